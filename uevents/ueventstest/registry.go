package ueventstest

import (
	"maps"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
)

// The functions of this file are called with k.mu held.

// findOrCreate returns the event of a command, which it makes unless there is one. The status generations ignore
// flags in the name and never compare fields.
func (k *Kernel) findOrCreate(text string) (*event, error) {
	c := splitCommand(text)
	if c.flags && k.page == nil {
		return nil, errno.EINVAL
	}
	if e := k.byName[c.name]; e != nil {
		if k.page == nil && !fieldsMatch(e.fields, fieldWords(c.args)) {
			return nil, errno.EADDRINUSE
		}
		return e, nil
	}
	var slot uint32
	if k.page != nil {
		var full bool
		if slot, full = k.page.take(); full {
			return nil, errno.EMFILE
		}
	}
	e, err := newEvent(c)
	if err == nil && k.page == nil && len(k.byName) >= k.maxEvents {
		err = errno.EMFILE
	}
	if err != nil {
		if k.page != nil {
			k.page.free(slot)
		}
		return nil, err
	}
	e.slot = slot
	k.lastID++
	e.id = k.lastID
	k.byName[e.name] = e
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
	delete(k.byName, e.name)
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
