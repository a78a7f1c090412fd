package truncate

import (
	"sort"

	"github.com/userevents/userevents-go/internal/jsonscan"
)

// Members are dropped in the order of these classes.
const (
	remote   = iota // deep in other objects, or behind a key that leaves little room for others
	longText        // a text or array longer than Short
	text            // another one
	number          // everything else
	classes
)

const (
	// maxKey is the length in bytes from which a key is dropped first.
	maxKey = 4 * Short

	// maxDepth is the number of objects around a member from which on it is dropped first, the deepest ones before the others.
	maxDepth = 8

	// last is how many members of a class stay until those before them have been dropped.
	last = 8
)

// dropOrder is the order in which members are dropped: of each class those before the last ones, or all that are left.
var dropOrder = [...]struct {
	class int
	all   bool
}{{remote, true}, {longText, true}, {text, false}, {number, false}, {text, true}, {number, true}}

// window is which members of a class are dropped, by their numbers.
type window struct{ from, to int }

// Drop removes members of an object, in place, so that at least need bytes are saved when [Object] has
// cut long texts as far as it can. Objects that have no members left are removed too. It returns the object's new
// length and how many members it dropped.
func Drop(object []byte, need int) (n, dropped int) {
	var counts [classes]int
	total := 0
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		counts[c]++
		total++
	}
	// Which bytes a member saves depends on the others: braces and the key of an object go with its last member.
	dropped = sort.Search(total, func(n int) bool { return sizeWithout(object, windows(&counts, n)) <= len(object)-need })
	w := windows(&counts, dropped)
	return remove(object, &w), dropped
}

// windows returns which members are dropped if there are n of them.
func windows(counts *[classes]int, n int) (w [classes]window) {
	for c, count := range counts {
		w[c].from = max(0, count-last)
		if c == remote {
			w[c].from = count
		}
		w[c].to = w[c].from
	}
	for _, step := range dropOrder {
		c := &w[step.class]
		before := min(n, c.from)
		c.from -= before
		n -= before
		if step.all {
			behind := min(n, counts[step.class]-c.to)
			c.to += behind
			n -= behind
		}
	}
	return w
}

// sizeWithout returns the length that [remove] would leave, with long texts cut as far as they can be.
func sizeWithout(object []byte, windows [classes]window) int {
	type state struct {
		size  int
		first bool // no member was written yet
	}
	var few [16]state
	open := few[:0]
	var seen [classes]int
	now, read := state{len(`{`), true}, len(`{`)
	between := func(end int) {
		for ; read < end; read++ {
			switch object[read] {
			case '"': // the key of an object
				key := read
				read = jsonscan.String(object, read) + len(`:{`) - 1
				open = append(open, now)
				now = state{now.size + commaLen(now.first) + read + 1 - key, true}
			case '}':
				if n := len(open); n > 0 {
					if now.first {
						now = open[n-1]
					} else {
						now.size++
					}
					open = open[:n-1]
				}
			}
		}
	}
	for m := (members{b: object}); m.next(); {
		c, shrinks := m.class()
		i := seen[c]
		seen[c]++
		between(m.key)
		read = m.end
		if w := windows[c]; i < w.from || i >= w.to {
			now = state{now.size + commaLen(now.first) + m.end - m.key - shrinks, false}
		}
	}
	between(len(object) - 1)
	return now.size + len(`}`)
}

// commaLen returns the length of the comma before a member.
func commaLen(first bool) int {
	if first {
		return 0
	}
	return len(`,`)
}

// class returns the class of a member, and by how much it shrinks if its value is long and is cut.
func (m *members) class() (class, shrinks int) {
	length := m.length()
	if length > Short {
		shrinks = length - len(Mark)
	}
	switch first := m.b[m.begin]; {
	case m.begin-m.key > maxKey || m.long > 0 || m.depth > maxDepth:
		return remote, shrinks
	case length > Short:
		return longText, shrinks
	case first == '"' || first == '[':
		return text, 0
	}
	return number, 0
}

// remove removes the members of each class that are in its window.
func remove(object []byte, windows *[classes]window) int {
	var few [16]int
	open := few[:0] // where the members begin whose objects are open
	var seen [classes]int
	write := copy(object, `{`)
	read := write
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		i := seen[c]
		seen[c]++
		write, open = moveBraces(object, write, read, m.key, open)
		read = m.end
		if w := windows[c]; i < w.from || i >= w.to {
			write = comma(object, write)
			write += copy(object[write:], object[m.key:m.end])
		}
	}
	write, _ = moveBraces(object, write, read, len(object)-1, open)
	return write + copy(object[write:], `}`)
}

// moveBraces writes what is between two members: the ends and the beginnings of objects.
func moveBraces(b []byte, write, read, end int, open []int) (int, []int) {
	for read < end {
		switch b[read] {
		case '"': // the key of an object
			key := read
			read = jsonscan.String(b, read) + len(`:{`)
			open = append(open, write)
			write = comma(b, write)
			write += copy(b[write:], b[key:read])
			continue
		case '}':
			if n := len(open); n > 0 {
				if b[write-1] == '{' {
					write = open[n-1]
				} else {
					write += copy(b[write:], `}`)
				}
				open = open[:n-1]
			}
		}
		read++
	}
	return write, open
}

// comma writes a comma if a member comes before.
func comma(b []byte, write int) int {
	if b[write-1] != '{' {
		b[write] = ','
		write++
	}
	return write
}
