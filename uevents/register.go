package uevents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Register registers an event. Registering the same declaration again, here or in another
// program, is no error: the kernel has one event, and enables all.
//
// The event returned is never nil. With an error it is never enabled: the declaration is
// invalid ([tracepoint.ErrInvalid]), the name is taken by an event with other fields
// ([ErrConflict]), the provider is closed ([ErrClosed]) or unavailable (see [Open]), or the
// kernel refused, with its errno.
//
// Before Linux 6.4 the kernel hands out an event by its name, whatever its fields. There
// Register compares the fields itself, which takes read permission on dynamic_events;
// without it, a conflict goes unnoticed.
func (p *Provider) Register(d tracepoint.Declaration, o *EventOptions) (*Event, error) {
	if o == nil {
		o = &EventOptions{}
	}
	e := &Event{p: p, decl: d, fixedSize: d.FixedSize(), maxPayload: p.maxPayload}
	e.word.Store(&never)
	fail := func(err error) (*Event, error) {
		return e, &Error{Op: "register", Name: e.decl.Name, Err: err, Remedy: remedyRegister(err)}
	}
	if o.OnConflict == ConflictHash {
		e.decl = hashed(d)
	}
	if err := e.decl.Validate(); err != nil {
		return fail(err)
	}
	if p.res == nil {
		return fail(p.err)
	}
	groups, err := p.groupsOf(o)
	if err != nil {
		return fail(err)
	}
	flags, err := p.tryRegister(e, o, groups)
	if err != nil {
		return fail(err)
	}
	e.empty = binary.NativeEndian.AppendUint32(nil, e.index)
	if p.abi != ABIEnableAddress {
		// These kernels answer EFAULT to a payload without bytes.
		e.empty = append(e.empty, 0)
	}
	e.multi = flags&backend.FlagMultiFormat != 0
	e.persistent = flags&backend.FlagPersist != 0 || p.abi != ABIEnableAddress
	if err := p.checkFields(e); err != nil {
		err = errors.Join(err, p.res.close(e.reg))
		e.reg = nil
		return fail(err)
	}
	if !p.adopt(e) {
		e.reg = nil // closed with the provider
		return fail(ErrClosed)
	}
	return e, nil
}

// groupsOf returns the groups of the options, each once.
func (p *Provider) groupsOf(o *EventOptions) (groups []*Group, err error) {
	for _, g := range o.Groups {
		if g == nil || g.p != p.res {
			return nil, errors.New("a group is nil or belongs to another provider")
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// tryRegister registers with all the flags wished for, and again without those that the
// kernel refuses. It returns the flags that were accepted.
func (p *Provider) tryRegister(e *Event, o *EventOptions, groups []*Group) (flags uint16, err error) {
	if o.Persist {
		flags |= backend.FlagPersist
	}
	if o.OnConflict == ConflictMultiFormat {
		flags |= backend.FlagMultiFormat
	}
	for {
		var reg *registration
		var index uint32
		reg, index, err = p.res.register(backend.Request{Command: e.decl.String(), Flags: flags}, groups)
		switch {
		case err == nil:
			e.reg, e.index, e.mask = reg, index, reg.place.mask
			return flags, nil
		case errors.Is(err, errno.EADDRINUSE):
			return flags, p.conflict(e.decl, err)
		case flags&backend.FlagPersist != 0 && errors.Is(err, errno.EPERM):
			flags &^= backend.FlagPersist
		case flags&backend.FlagMultiFormat != 0 && errors.Is(err, errno.EINVAL):
			flags &^= backend.FlagMultiFormat
			e.decl = hashed(e.decl)
			if err := e.decl.Validate(); err != nil {
				return flags, err
			}
		case flags&backend.FlagPersist != 0 && errors.Is(err, errno.EINVAL):
			flags &^= backend.FlagPersist
		default:
			return flags, err
		}
	}
}

// checkFields compares fields where the kernel does not.
func (p *Provider) checkFields(e *Event) error {
	if p.abi == ABIEnableAddress {
		return nil
	}
	if fields, known := p.res.backend.Fields(e.decl.Name); known && fields != e.decl.FieldList() {
		return p.conflict(e.decl, nil)
	}
	return nil
}

// conflict describes a conflict, with what the kernel has if that can be read.
func (p *Provider) conflict(d tracepoint.Declaration, cause error) error {
	err := ErrConflict
	if cause != nil {
		err = fmt.Errorf("%w: %w", ErrConflict, cause)
	}
	if fields, known := p.res.backend.Fields(d.Name); known {
		return fmt.Errorf("%w: it has %q, not %q", err, fields, d.FieldList())
	}
	return err
}

// hashed returns the declaration with a hash of its fields in the name. The hash is FNV-1a
// of 32 bits over the fields in command syntax, in hexadecimal: the same fields have the
// same name in every program, on every machine and in every release of this package.
func hashed(d tracepoint.Declaration) tracepoint.Declaration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.FieldList())) // never fails
	d.Name = fmt.Sprintf("%s_%08x", d.Name, h.Sum32())
	return d
}
