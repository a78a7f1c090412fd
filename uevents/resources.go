package uevents

import (
	"errors"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

// resources is what a provider holds of the kernel. It refers to neither the Provider nor
// its Events, so that a cleanup can release it when they are unreachable.
type resources struct {
	backend backend.Backend

	mu       sync.Mutex
	closed   bool // nothing registers any more
	released bool // the backend is closed
	regs     map[*registration]struct{}
	tallies  tallies
	// draining are the closed registrations that writers were in flight of. The backend is
	// closed when there are none.
	draining map[*registration]struct{}
}

func newResources(b backend.Backend) *resources {
	return &resources{backend: b, regs: map[*registration]struct{}{}, draining: map[*registration]struct{}{}}
}

// registration is one event as the kernel knows it.
type registration struct {
	res     *resources
	backend backend.Backend // that of res: each write would load it from there
	request backend.Request // Word and Bit are what UNREG has to name
	place   place           // what Enabled looks at
	groups  []*Group
	bit     enableBit // not of the status generations
	closed  atomic.Bool

	writes writes
}

func (r *resources) register(req backend.Request, groups []*Group) (*registration, uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0, ErrClosed
	}
	reg := &registration{res: r, backend: r.backend, request: req, groups: groups, writes: r.tallies.take()}
	answer, err := r.registerLocked(reg)
	if err != nil {
		return nil, 0, err
	}
	reg.place = place{answer.Word, answer.Mask}
	for _, g := range groups {
		g.join(reg.place)
	}
	r.regs[reg] = struct{}{}
	return reg, answer.Index, nil
}

// registerLocked registers at a bit of the first group's words, or of a word of its own, and
// at another one as long as the kernel is still freeing the bit.
func (r *resources) registerLocked(reg *registration) (answer backend.Registration, err error) {
	if r.backend.ABI() != backend.EnableAddress {
		return r.backend.Register(reg.request)
	}
	var first *Group
	if len(reg.groups) > 0 {
		first = reg.groups[0]
	}
	// Bits that the kernel is still freeing stay taken meanwhile, so that each attempt has
	// another word, and at last one that was never used.
	var freeing []enableBit
	defer func() {
		for _, b := range freeing {
			r.freeBit(b)
		}
	}()
	for {
		if reg.bit, err = r.takeBit(first, len(freeing) > 0); err != nil {
			return answer, err
		}
		reg.request.Word, reg.request.Bit = reg.bit.word, reg.bit.bit
		var busy bool
		answer, busy, err = registerAt(r.backend, reg.request)
		switch {
		case busy:
			freeing = append(freeing, reg.bit)
			continue
		case err != nil:
			r.freeBit(reg.bit)
		}
		return answer, err
	}
}

// registerAt registers at a bit and tells the two meanings of EADDRINUSE apart: the kernel
// is still freeing an earlier registration of the bit (busy), or the event has other fields
// (the error).
//
// The kernel frees a bit late if it had to bring the word's page back when it last changed
// the bit. Until then UNREG of the bit succeeds again, and fails with ENOENT afterwards.
func registerAt(b backend.Backend, req backend.Request) (answer backend.Registration, busy bool, err error) {
	answer, err = b.Register(req)
	if !errors.Is(err, errno.EADDRINUSE) {
		return answer, false, err
	}
	if !errors.Is(b.Unregister(req.Word, req.Bit), errno.ENOENT) {
		return answer, true, nil
	}
	answer, err = b.Register(req) // the bit is free now, if it was not before
	return answer, false, err
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
	if reg.writes.inFlight() {
		r.draining[reg] = struct{}{}
	}
	for _, g := range reg.groups {
		g.leave(reg.place)
	}
	if err := r.backend.Unregister(reg.request.Word, reg.request.Bit); err != nil {
		// The kernel may still write to the word: it is never used again.
		name, _, _ := strings.Cut(reg.request.Command, " ")
		return &Error{Op: "unregister", Name: name, Err: err}
	}
	if reg.bit.sharedWord != nil {
		r.freeBit(reg.bit)
	}
	return nil
}

// closeAll unregisters every event and closes the backend, unless a writer is in flight: then
// the last such writer closes it.
func (r *resources) closeAll() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for reg := range r.regs {
		errs = append(errs, r.closeLocked(reg))
	}
	return errors.Join(append(errs, r.release())...)
}

// drain is called by each writer that ends after its registration was closed.
func (r *resources) drain(reg *registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reg.writes.inFlight() {
		delete(r.draining, reg)
	}
	_ = r.release() // Close has returned: no caller is left for an error
}

// release closes the backend when it is of no more use.
func (r *resources) release() error {
	if !r.closed || r.released || len(r.draining) > 0 {
		return nil
	}
	r.released = true
	if err := r.backend.Close(); err != nil {
		return &Error{Op: "close", Err: err}
	}
	return nil
}

// sharedWord is an enable word in which registrations have a bit each. It goes back to the
// backend with the last of them.
type sharedWord struct {
	word  *atomic.Uintptr
	group *Group  // whose word it is, or nil: an event without a group has a word to itself
	used  uintptr // the bits taken
	next  int     // where the search for a free bit begins
}

type enableBit struct {
	*sharedWord
	bit uint8
}

// takeBit takes a free bit of one of a group's words, or of a new word. With fresh it is
// always a new word.
func (r *resources) takeBit(g *Group, fresh bool) (enableBit, error) {
	if g != nil && !fresh {
		for _, w := range g.own {
			if w.used != ^uintptr(0) {
				return w.take(), nil
			}
		}
	}
	word, err := r.backend.NewWord()
	if err != nil {
		return enableBit{}, err
	}
	w := &sharedWord{word: word, group: g}
	if g != nil {
		g.own = append(g.own, w)
	}
	return w.take(), nil
}

// take takes a free bit, of which there must be one: the next behind the bit taken last, so
// that the bit freed first is used again first.
func (w *sharedWord) take() enableBit {
	free := bits.RotateLeft(uint(^w.used), -w.next)
	bit := (w.next + bits.TrailingZeros(free)) % backend.WordBits
	w.used |= 1 << bit
	w.next = (bit + 1) % backend.WordBits
	return enableBit{w, uint8(bit)}
}

// freeBit undoes takeBit. The kernel must have no registration of the bit.
func (r *resources) freeBit(b enableBit) {
	w := b.sharedWord
	if w.used &^= 1 << b.bit; w.used != 0 {
		return
	}
	if w.group != nil {
		w.group.own = slices.DeleteFunc(w.group.own, func(o *sharedWord) bool { return o == w })
	}
	r.backend.FreeWord(w.word)
}
