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
	dropped = sort.Search(counts.Total(), func(n int) bool { return remove(object, counts.Select(n), false) <= len(object)-need })
	return remove(object, counts.Select(dropped), true), dropped
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

// remover goes through an object and drops members, and the objects that have none left. Unless it moves, it only counts.
type remover struct {
	b     []byte
	moves bool

	read int // up to where the object has been read
	now  written
	open []written // what was written before each object that is open
}

// written is what a remover has written so far.
type written struct {
	size  int
	first bool // the object that is open has no member yet
}

// remove removes the members that are dropped, and returns the length of the object. If it does not move, it leaves the object as it is, and the
// length is that with long texts cut as far as they can be.
func remove(object []byte, dropped Selection, moves bool) int {
	var few [16]written
	r := remover{b: object, moves: moves, read: len(`{`), now: written{len(`{`), true}, open: few[:0]}
	for m := (members{b: object}); m.next(); {
		c, shrinks := m.class()
		r.braces(m.key)
		r.read = m.end
		if dropped.Drops(c) {
			continue
		}
		r.comma()
		r.copy(m.key, m.end)
		if !moves {
			r.now.size -= shrinks
		}
		r.now.first = false
	}
	r.braces(len(object) - 1)
	r.copy(len(object)-1, len(object))
	return r.now.size
}

// braces writes what is between two members: the ends and the beginnings of objects.
func (r *remover) braces(end int) {
	for r.read < end {
		at := r.read
		r.read++
		switch r.b[at] {
		case '"': // the key of an object
			r.read = min(jsonscan.String(r.b, at)+len(`:{`), end)
			r.open = append(r.open, r.now)
			r.comma()
			r.copy(at, r.read)
			r.now.first = true
		case '}':
			if n := len(r.open); n > 0 {
				if r.now.first {
					r.now = r.open[n-1]
				} else {
					r.copy(at, r.read)
				}
				r.open = r.open[:n-1]
			}
		}
	}
}

// comma writes a comma if a member comes before.
func (r *remover) comma() {
	if r.now.first {
		return
	}
	if r.moves {
		r.b[r.now.size] = ','
	}
	r.now.size++
}

// copy writes a part of the object.
func (r *remover) copy(from, to int) {
	if r.moves {
		copy(r.b[r.now.size:], r.b[from:to])
	}
	r.now.size += to - from
}
