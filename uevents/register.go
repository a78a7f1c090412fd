package uevents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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
// invalid ([tracepoint.ErrInvalid]), or its fixed fields exceed the limit, the naming policy is unknown or a group is not
// the provider's ([fs.ErrInvalid]), which is reported on every machine; the name is taken by an event with other fields ([ErrConflict], see
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
	e := &Event{p: p, decl: d, shortest: IndexSize + d.FixedSize(), longest: IndexSize + p.MaxPayload()}
	e.word.Store(&never)
	if err := p.tryRegister(e, o); err != nil {
		return e, &Error{Op: "register", Name: e.decl.Name, Err: err, Remedy: remedyRegister(p.way, p.abi, err)}
	}
	return e, nil
}

func (p *Provider) tryRegister(e *Event, o *EventOptions) error {
	if err := o.Naming.check(e.decl); err != nil {
		return err
	}
	if e.shortest > e.longest {
		return fmt.Errorf("%w: they take %d bytes, and the limit is %d: %w", errUnwritable, e.shortest-IndexSize, e.MaxPayload(), fs.ErrInvalid)
	}
	groups, err := p.groupsOf(o)
	if err != nil {
		return err
	}
	if p.res == nil {
		return p.Err()
	}
	err = p.registerAs(e, groups)
	if o.Naming == NameHashedOnConflict && errors.Is(err, ErrConflict) {
		hash := hashed(e.decl)
		e.conflict = &Error{Op: "register", Name: e.decl.Name, Err: err, Remedy: "registered as " + hash.Name}
		e.decl = hash
		err = p.registerAs(e, groups)
	}
	if err != nil {
		return err
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
		return err
	}
	return nil
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
			return nil, fmt.Errorf("a group is nil or belongs to another provider: %w", fs.ErrInvalid)
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// registerAs registers the event under the name of its declaration, as soon as the kernel has removed an event of other
// fields that no program or tool has any more. The error describes a conflict.
func (p *Provider) registerAs(e *Event, groups []*Group) error {
	for {
		err := p.register(e, groups)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if p.awaitRemoval() {
			continue
		}
		if fields, known := p.res.backend.Fields(e.decl.Name); known {
			err = fmt.Errorf("%w: it has %q, not %q", err, fields, e.decl.FieldList())
		}
		return err
	}
}

// register registers the event once, and compares its fields where the kernel does not.
func (p *Provider) register(e *Event, groups []*Group) error {
	reg, index, err := p.res.register(backend.Request{Command: e.decl.String()}, groups)
	if errors.Is(err, errno.EADDRINUSE) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return err
	}
	if p.abi != ABIEnableAddress {
		if fields, known := p.res.backend.Fields(e.decl.Name); known && fields != e.decl.FieldList() {
			return errors.Join(ErrConflict, p.res.close(reg))
		}
	}
	e.reg, e.index, e.mask = reg, index, reg.place.mask
	return nil
}
