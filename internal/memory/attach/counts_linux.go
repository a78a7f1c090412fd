package attach

import (
	"maps"
	"slices"

	"github.com/userevents/userevents-go/internal/live"
)

// endedCounts are the counts of an event in programs that have ended. They stay with those of other programs, since they must not become
// less.
type endedCounts struct {
	live.Counts

	seen bool // by a look at the losses, after the last program
}

// end notes that a program has ended, or has closed its events.
func (r *Reader) end(memory uint64, list []*Source) {
	for _, src := range list {
		if r.window != nil {
			src.final, src.ended = src.Lost(), true // the memory goes
			r.window.ended = append(r.window.ended, src)
		} else {
			r.forget(src)
		}
		if !src.off {
			r.leave(src)
		}
	}
	r.tool.Ended(memory)
}

// forget drops an event of which no record is left.
func (r *Reader) forget(src *Source) {
	e := r.ended[src.name]
	if e == nil {
		e = &endedCounts{Counts: live.Counts{Name: src.name}}
		r.ended[src.name] = e
	}
	e.Add(src.counts())
	e.seen = false
}

// forgetEnded moves the counts of events that no program has any more, after a look at their losses, and reports whether there were any.
func (r *Reader) forgetEnded() (moved bool) {
	for name, e := range r.ended {
		switch {
		case r.of[name] > 0:
		case e.seen:
			r.gone.Add(e.Counts)
			delete(r.ended, name)
			moved = true
		default:
			e.seen = true
		}
	}
	return moved
}

// each calls f with each event, also with those of programs that have ended and of which records are left.
func (r *Reader) each(f func(*Source)) {
	r.programs.Sources(f)
	if r.window != nil {
		for _, src := range r.window.ended {
			f(src)
		}
	}
}

// counts returns the counts by name of event.
func (r *Reader) counts() (list []live.Counts) {
	byName := map[string]*live.Counts{}
	for name, e := range r.ended {
		counts := e.Counts
		byName[name] = &counts
	}
	r.each(func(src *Source) {
		if byName[src.name] == nil {
			byName[src.name] = &live.Counts{Name: src.name}
		}
		byName[src.name].Add(src.counts())
	})
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, *byName[name])
	}
	return list
}

// counts counts what the kernel would have matched. Records that found no room were not compared with the condition.
func (s *Source) counts() live.Counts {
	read, lost := s.Read-s.unwanted, s.final
	if !s.ended {
		lost = s.Lost()
	}
	c := live.Counts{
		Name: s.name, AtLeast: s.atLeast, Matched: read + lost, Read: read, Lost: lost, Pending: uint64(s.kept), Overwritten: s.overwritten,
	}
	c.Read -= c.Pending + c.Overwritten
	c.Pauses, c.Paused = s.Limited()
	return c
}
