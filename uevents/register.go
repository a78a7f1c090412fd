package uevents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"weak"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Register registers an event. Registering the same declaration again, here or in another
// program, is no error: the kernel has one event, and enables all.
//
// The event returned is never nil. With an error it is never enabled: the declaration is
// invalid ([tracepoint.ErrInvalid]), or the naming policy is unknown or a group is not the provider's (EINVAL),
// which is reported on every machine; the name is taken by an event with other fields ([ErrConflict], see
// [Naming]); the provider is closed ([ErrClosed]), nil or unavailable (see [Open]); or the
// kernel refused, with its errno.
//
// Before Linux 6.4 the kernel hands out an event by its name, whatever its fields. There
// Register compares the fields itself, which takes read permission on dynamic_events;
// without it, a conflict goes unnoticed.
func (p *Provider) Register(d tracepoint.Declaration, o *EventOptions) (*Event, error) {
	if p == nil {
		p = noProvider
	}
	if o == nil {
		o = &EventOptions{}
	}
	e := &Event{p: p, decl: d, shortest: IndexSize + d.FixedSize(), longest: IndexSize + p.maxPayload}
	e.word.Store(&never)
	fail := func(err error) (*Event, error) {
		return e, &Error{Op: "register", Name: e.decl.Name, Err: err, Remedy: remedyRegister(p.abi, err)}
	}
	var err error
	if e.decl, err = o.Naming.first(d); err != nil {
		return fail(err)
	}
	groups, err := p.groupsOf(o)
	if err != nil {
		return fail(err)
	}
	if p.res == nil {
		return fail(p.Err())
	}
	err = p.registerAs(e, e.decl, o, groups)
	if o.Naming == NameHashedOnConflict && errors.Is(err, ErrConflict) {
		hash := hashed(d)
		e.conflict = notice(d.Name, err, hash.Name)
		err = p.registerAs(e, hash, o, groups)
	}
	if err != nil {
		return fail(err)
	}
	e.empty = binary.NativeEndian.AppendUint32(nil, e.index)
	if p.abi != ABIEnableAddress {
		// These kernels answer EFAULT to a payload without bytes.
		e.empty = append(e.empty, 0)
	}
	if !p.adopt(e) {
		// Close of the provider may not have come to the registration yet.
		err := errors.Join(ErrClosed, p.res.close(e.reg))
		e.reg = nil
		return fail(err)
	}
	return e, nil
}

// removalWaits is how often a provider waits for the kernel to remove events of other fields, for 5 ms each. The kernel takes an
// RCU grace period for it, tens of milliseconds. Waits are counted, so that a machine that stands still does not use them up.
const removalWaits = 40

// awaitRemoval waits a little for the kernel to remove an event whose last user is gone, as that of a program which has
// just ended. It reports false when the provider has waited often enough: a program or a tool has the event.
func (p *Provider) awaitRemoval() bool {
	waited := p.waited.Load()
	p.waiting.Lock()
	defer p.waiting.Unlock()
	switch {
	case p.waited.Load() > waited: // another call has waited meanwhile
		return true
	case waited >= removalWaits:
		return false
	case !p.res.backend.AwaitRemoval():
		return false
	}
	p.waited.Add(1)
	return true
}

// groupsOf returns the groups of the options, each once.
func (p *Provider) groupsOf(o *EventOptions) (groups []*Group, err error) {
	own := weak.Make(p)
	for _, g := range o.Groups {
		if g == nil || g.provider != own {
			return nil, fmt.Errorf("a group is nil or belongs to another provider: %w", errno.EINVAL)
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// registerAs registers the event under the name of a declaration, as soon as the kernel has removed an event of other
// fields that no program or tool has any more. The error describes a conflict.
func (p *Provider) registerAs(e *Event, d tracepoint.Declaration, o *EventOptions, groups []*Group) error {
	for {
		e.decl = d
		err := p.register(e, o, groups)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if !p.awaitRemoval() {
			return p.describe(e.decl, err)
		}
	}
}

// register registers the event under the name of e.decl, and makes sure that it has the fields.
func (p *Provider) register(e *Event, o *EventOptions, groups []*Group) error {
	accepted, err := p.tryRegister(e, o, groups)
	if err != nil {
		return err
	}
	if err := p.checkFields(e); err != nil {
		err = errors.Join(err, p.res.close(e.reg))
		e.reg = nil
		return err
	}
	if accepted.flags&backend.FlagMultiFormat != 0 {
		e.multi = true
		e.multiName, _ = p.res.backend.MultiFormat(e.decl.Name, e.decl.FieldList())
	}
	e.persistence = p.persistence(e, o.Persist, accepted)
	return nil
}

// acceptance is what the kernel accepted of a registration.
type acceptance struct {
	flags   uint16
	existed bool // if asked to persist: an event of this name was listed before
	unknown bool // the kernel does not know the flag to persist
}

// tryRegister registers with all the flags wished for, and again without those that the
// kernel refuses.
func (p *Provider) tryRegister(e *Event, o *EventOptions, groups []*Group) (a acceptance, err error) {
	if o.Persist {
		a.flags |= backend.FlagPersist
	}
	if o.Naming == NameMultiFormat {
		a.flags |= backend.FlagMultiFormat
	}
	for {
		if o.Persist { // each time, since the name may have changed
			_, a.existed = p.res.backend.Fields(e.decl.Name)
		}
		var reg *registration
		var index uint32
		reg, index, err = p.res.register(backend.Request{Command: e.decl.String(), Flags: a.flags}, groups)
		switch {
		case err == nil:
			e.reg, e.index, e.mask = reg, index, reg.place.mask
			return a, nil
		case errors.Is(err, errno.EADDRINUSE):
			return a, fmt.Errorf("%w: %w", ErrConflict, err)
		case a.flags&backend.FlagPersist != 0 && errors.Is(err, errno.EPERM):
			a.flags &^= backend.FlagPersist
		case a.flags&backend.FlagMultiFormat != 0 && errors.Is(err, errno.EINVAL):
			a.flags &^= backend.FlagMultiFormat
			name := e.decl.Name
			e.decl = hashed(e.decl)
			e.conflict = notice(name, fmt.Errorf("the kernel has no multi-format events, which came with Linux 6.9: %w", err), e.decl.Name)
		case a.flags&backend.FlagPersist != 0 && errors.Is(err, errno.EINVAL):
			a.flags &^= backend.FlagPersist
			a.unknown = true
		default:
			return a, err
		}
	}
}

// checkFields compares fields where the kernel does not.
func (p *Provider) checkFields(e *Event) error {
	if p.abi == ABIEnableAddress {
		return nil
	}
	if fields, known := p.res.backend.Fields(e.decl.Name); known && fields != e.decl.FieldList() {
		return ErrConflict
	}
	return nil
}

// describe adds to a conflict what fields the kernel's event has, if that can be read.
func (p *Provider) describe(d tracepoint.Declaration, err error) error {
	if fields, known := p.res.backend.Fields(d.Name); known {
		return fmt.Errorf("%w: it has %q, not %q", err, fields, d.FieldList())
	}
	return err
}

// notice is what [Event.Conflict] returns of an event that was registered under another name.
func notice(name string, err error, other string) error {
	return &Error{Op: "register", Name: name, Err: err, Remedy: "registered as " + other}
}
