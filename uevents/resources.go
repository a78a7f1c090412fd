package uevents

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
)

// resources is what a provider holds of the kernel. It refers to neither the Provider nor
// its Events, so that it can be given back when they are unreachable.
type resources struct {
	backend backend.Backend

	mu     sync.Mutex
	closed bool
	regs   map[*registration]struct{}
}

// registration is one event as the kernel knows it.
type registration struct {
	request backend.Request // Word and Bit are what UNREG has to name
	place   place           // what Enabled looks at
	closed  atomic.Bool
	group   *Group      // nil without
	shared  *sharedWord // nil if the word is the registration's own
}

// register performs one registration on the registrar's thread. The place in memory that
// the kernel is to write to comes from the group, or is a word of its own.
func (r *resources) register(req backend.Request, g *Group) (*registration, uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0, ErrClosed
	}
	reg := &registration{request: req, group: g}
	if r.backend.ABI() == backend.EnableAddress {
		if err := r.allocate(reg); err != nil {
			return nil, 0, err
		}
	}
	var answer backend.Registration
	var err error
	onRegistrar(func() { answer, err = r.backend.Register(reg.request) })
	if err != nil {
		r.free(reg)
		return nil, 0, err
	}
	reg.place = place{answer.Word, answer.Mask}
	if g != nil {
		g.join(reg.place)
	}
	r.regs[reg] = struct{}{}
	return reg, answer.Index, nil
}

func (r *resources) allocate(reg *registration) (err error) {
	if reg.group == nil {
		reg.request.Word, err = r.backend.NewWord()
		return err
	}
	reg.shared, reg.request.Bit, err = reg.group.reserve(r.backend)
	if err == nil {
		reg.request.Word = reg.shared.word
	}
	return err
}

// free gives the registration's bit back. A group keeps its words.
func (r *resources) free(reg *registration) {
	switch {
	case reg.shared != nil:
		reg.shared.used &^= 1 << reg.request.Bit
	case reg.request.Word != nil:
		r.backend.FreeWord(reg.request.Word)
	}
}

// close unregisters one event. Closing it again does nothing.
func (r *resources) close(reg *registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closeLocked(reg)
}

func (r *resources) closeLocked(reg *registration) error {
	if reg.closed.Swap(true) {
		return nil
	}
	delete(r.regs, reg)
	if reg.group != nil {
		reg.group.leave(reg.place)
	}
	var err error
	onRegistrar(func() { err = r.backend.Unregister(reg.request.Word, reg.request.Bit) })
	if err != nil {
		// The kernel may still write to the word: it is never used again.
		name, _, _ := strings.Cut(reg.request.Command, " ")
		return &Error{Op: "unregister", Name: name, Err: err}
	}
	r.free(reg)
	return nil
}

// closeAll unregisters every event and closes the backend.
func (r *resources) closeAll() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	shared := map[*sharedWord]struct{}{}
	for reg := range r.regs {
		errs = append(errs, r.closeLocked(reg))
		if reg.shared != nil {
			shared[reg.shared] = struct{}{}
		}
	}
	for w := range shared {
		if w.used == 0 {
			r.backend.FreeWord(w.word)
		}
	}
	if err := r.backend.Close(); err != nil {
		errs = append(errs, &Error{Op: "close", Err: err})
	}
	return errors.Join(errs...)
}
