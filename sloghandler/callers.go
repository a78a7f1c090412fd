package sloghandler

import (
	"log/slog"
	"strconv"
	"sync/atomic"
)

// callers remembers the text for the places of log calls: finding a function's name
// allocates and takes longer than everything else about a record. There are no more places
// than the program has log calls, so nothing is ever forgotten.
type callers struct {
	lists [256]atomic.Pointer[caller] // by a hash of the PC
}

type caller struct {
	pc   uintptr
	text string
	next *caller
}

// text returns the source of a record, or "" if it does not say.
func (c *callers) text(r *slog.Record) string {
	if r.PC == 0 {
		return ""
	}
	list := &c.lists[uint64(r.PC)*0x9e3779b97f4a7c15>>56] // Fibonacci hashing
	for found := list.Load(); found != nil; found = found.next {
		if found.pc == r.PC {
			return found.text
		}
	}
	added := &caller{pc: r.PC, text: sourceText(r.Source())}
	for {
		// Another goroutine may add the same place, which does no harm.
		added.next = list.Load()
		if list.CompareAndSwap(added.next, added) {
			return added.text
		}
	}
}

func sourceText(s *slog.Source) string {
	if s == nil {
		return ""
	}
	return s.Function + " " + s.File + ":" + strconv.Itoa(s.Line)
}
