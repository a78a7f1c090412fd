package spanqueue

import "container/list"

// process is a process with spans in a [Queue].
type process struct {
	pid   int32
	spans list.List // of *Parts, oldest first
	bytes int       // of all
	index int       // in byBytes
}

// byBytes is a heap of processes. The one with the most bytes is the first.
type byBytes []*process

func (b byBytes) Len() int           { return len(b) }
func (b byBytes) Less(i, j int) bool { return b[i].bytes > b[j].bytes }

func (b byBytes) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *byBytes) Push(p any) {
	p.(*process).index = len(*b)
	*b = append(*b, p.(*process))
}

func (b *byBytes) Pop() any {
	last := len(*b) - 1
	p := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return p
}
