package ueventstest

import (
	"maps"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// The functions of this file are called with k.mu held.

// findOrCreate returns the event of a command, which it makes unless there is one. The status generations never
// compare fields.
func (k *Kernel) findOrCreate(text string) (*event, error) {
	d, err := tracepoint.Parse(text)
	if err != nil {
		return nil, errno.EINVAL
	}
	if e := k.byName[d.Name]; e != nil {
		if k.page == nil && !e.decl.Equal(d) {
			return nil, errno.EADDRINUSE
		}
		return e, nil
	}
	e := &event{decl: d, id: k.lastID + 1}
	full := len(k.byName) >= k.maxEvents
	if k.page != nil {
		e.slot, full = k.page.take()
	}
	if full {
		return nil, errno.EMFILE
	}
	k.lastID++
	k.byName[d.Name] = e
	return e, nil
}

// release removes an event that is no longer held. A real kernel does so a little later, and the status generations
// keep it until it is deleted.
func (k *Kernel) release(e *event) {
	if k.page == nil && !e.busy() {
		k.destroy(e)
	}
}

func (k *Kernel) destroy(e *event) {
	delete(k.byName, e.decl.Name)
	if k.page != nil {
		k.page.set(e.slot, 0)
		k.page.free(e.slot)
	}
}

// update tells programs who traces an event, after that changed.
func (k *Kernel) update(e *event) {
	bits := e.status()
	if k.page != nil {
		k.page.set(e.slot, bits)
	}
	for _, w := range e.words {
		w.set(bits != 0)
	}
}

// events returns all events, oldest first.
func (k *Kernel) events() []*event {
	return slices.SortedFunc(maps.Values(k.byName), func(a, b *event) int { return a.id - b.id })
}
