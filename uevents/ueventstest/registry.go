package ueventstest

import (
	"maps"
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// The functions of this file are called with k.mu held.

// findOrCreate returns the event of a command, which it makes unless there is one. The
// caller has to hold the event in some way, or to call release.
func (k *Kernel) findOrCreate(text string, flags uint16) (*event, error) {
	c := splitCommand(text)
	if k.page != nil {
		return k.findOrCreateOld(c)
	}
	if c.flags {
		return nil, errno.EINVAL
	}
	if flags&backend.FlagPersist != 0 && !k.perfmon {
		return nil, errno.EPERM
	}
	e, err := k.find(c.name, fieldWords(c.args), flags)
	if e != nil || err != nil {
		return e, err
	}
	// A number is used up by a registration that fails, too.
	number := k.multiID
	if flags&backend.FlagMultiFormat != 0 {
		k.multiID++
	}
	e, err = newEvent(c, flags)
	if err != nil {
		return nil, err
	}
	if e.multiFormat() {
		e.system = tracepoint.MultiSystem
		e.name += "." + strconv.FormatUint(number, 16)
	}
	if k.count >= k.maxEvents {
		return nil, errno.EMFILE
	}
	k.add(e)
	return e, nil
}

// findOrCreateOld is findOrCreate of the status generations, which ignore flags in the
// name, never compare fields and keep every event until it is deleted.
func (k *Kernel) findOrCreateOld(c command) (*event, error) {
	if same := k.byName[c.name]; len(same) > 0 {
		return same[0], nil
	}
	slot, ok := k.page.take()
	if !ok {
		return nil, errno.EMFILE
	}
	e, err := newEvent(c, backend.FlagPersist)
	if err != nil {
		k.page.free(slot)
		return nil, err
	}
	e.slot = slot
	k.add(e)
	return e, nil
}

// find looks for an event with this name and these fields. Events with and without several
// formats do not see each other.
func (k *Kernel) find(name string, argv []string, flags uint16) (*event, error) {
	multi := flags&backend.FlagMultiFormat != 0
	for _, e := range k.byName[name] {
		switch {
		case e.multiFormat() != multi:
		case fieldsMatch(e.fields, argv):
			return e, nil
		case !multi:
			return nil, errno.EADDRINUSE
		}
	}
	return nil, nil
}

func (k *Kernel) add(e *event) {
	k.lastID++
	e.id = k.lastID
	k.count++
	k.byName[e.regName] = append(k.byName[e.regName], e)
}

// release removes an event that is no longer held. A real kernel does so a little
// later.
func (k *Kernel) release(e *event) {
	if !e.busy() && e.flags&backend.FlagPersist == 0 {
		k.destroy(e)
	}
}

func (k *Kernel) destroy(e *event) {
	k.count--
	same := slices.DeleteFunc(k.byName[e.regName], func(o *event) bool { return o == e })
	if len(same) > 0 {
		k.byName[e.regName] = same
	} else {
		delete(k.byName, e.regName)
	}
	if k.page != nil {
		k.page.set(e.slot, 0)
		k.page.free(e.slot)
	}
}

// remove deletes an event on request.
func (k *Kernel) remove(e *event) error {
	if e.busy() {
		return errno.EBUSY
	}
	if k.page == nil && e.flags&backend.FlagPersist != 0 && !k.perfmon {
		return errno.EPERM
	}
	k.destroy(e)
	return nil
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
	all := slices.Concat(slices.Collect(maps.Values(k.byName))...)
	slices.SortFunc(all, func(a, b *event) int { return a.id - b.id })
	return all
}
