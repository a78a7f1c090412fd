package truncate

import (
	"sort"

	"github.com/userevents/userevents-go/internal/jsonscan"
)

// maxDepth is the number of objects around a member from which on it is dropped first.
const maxDepth = 8

// Drop removes members of an object, in place, so that at least need bytes are saved when [Object] has
// cut long texts as far as it can. Objects that have no members left are removed too. It returns the object's new
// length and how many members it dropped.
func Drop(object []byte, need int) (n, dropped int) {
	var counts Counts
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		counts[c]++
	}
	// Which bytes a member saves depends on the others: braces and the key of an object go with its last member.
	dropped = sort.Search(counts.Total(), func(n int) bool { return sizeWithout(object, counts.Select(n)) <= len(object)-need })
	return remove(object, counts.Select(dropped)), dropped
}

// sizeWithout returns the length that [remove] would leave, with long texts cut as far as they can be.
func sizeWithout(object []byte, dropped Selection) int {
	type state struct {
		size  int
		first bool // no member was written yet
	}
	var few [16]state
	open := few[:0]
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
		between(m.key)
		read = m.end
		if !dropped.Drops(c) {
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
func (m *members) class() (class Class, shrinks int) {
	length := m.length()
	if length > Short {
		shrinks = length - len(Mark)
	}
	switch first := m.b[m.begin]; {
	case m.begin-m.key > MaxKey || m.long > 0 || m.depth > maxDepth:
		return ClassRemote, shrinks
	case length > Short:
		return ClassLongText, shrinks
	case first == '"' || first == '[':
		return ClassText, 0
	}
	return ClassNumber, 0
}

// remove removes the members that are dropped.
func remove(object []byte, dropped Selection) int {
	var few [16]int
	open := few[:0] // where the members begin whose objects are open
	write := copy(object, `{`)
	read := write
	for m := (members{b: object}); m.next(); {
		c, _ := m.class()
		write, open = moveBraces(object, write, read, m.key, open)
		read = m.end
		if !dropped.Drops(c) {
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
