package ueventstest

import (
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

// file is one open user_events_data.
type file struct {
	k *Kernel
	// refs are the events registered through the file, by write index; nil when the file is
	// closed. Writers read it without a lock; a registration replaces the slice.
	refs atomic.Pointer[[]*event]
}

func init() {
	backend.OpenSimulated = func(kernel any) backend.Backend { return kernel.(*Kernel).open() }
}

// open opens user_events_data.
func (k *Kernel) open() backend.Backend {
	f := &file{k: k}
	f.refs.Store(new([]*event))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files++
	return f
}

func (f *file) ABI() backend.ABI { return f.k.abi }

// NewWord returns a word that Kernel.Close expects to be freed.
func (f *file) NewWord() (*atomic.Uintptr, error) {
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	word := new(atomic.Uintptr)
	f.k.allocated[word] = struct{}{}
	return word, nil
}

// FreeWord takes note of a word that a real kernel would still write to.
func (f *file) FreeWord(word *atomic.Uintptr) {
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	delete(f.k.allocated, word)
	for w, e := range f.k.words {
		if w.word == word {
			f.k.freedInUse = append(f.k.freedInUse, e.decl.Name)
		}
	}
}

func (f *file) Register(r backend.Request) (backend.Registration, error) {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.refs.Load() == nil {
		return backend.Registration{}, errno.EBADF
	}
	if k.closed {
		return backend.Registration{}, errno.ENODEV
	}
	if r.Flags != 0 || r.Bit >= backend.WordBits { // as Linux 6.4 to 6.6, which know no flag
		return backend.Registration{}, errno.EINVAL
	}
	bit := enabler{r.Word, r.Bit}
	if _, taken := k.words[bit]; taken {
		return backend.Registration{}, errno.EADDRINUSE
	}
	e, index, err := f.reference(r.Command)
	if err != nil {
		return backend.Registration{}, err
	}
	if k.page != nil {
		word, mask := k.page.at(e.slot)
		return backend.Registration{Index: index, Word: word, Mask: mask}, nil
	}
	if r.Word == nil {
		// An address that the kernel can't write to. The file holds the event all the same.
		return backend.Registration{}, errno.ENOMEM
	}
	k.words[bit] = e
	e.words = append(e.words, bit)
	bit.set(e.status() != 0)
	return backend.Registration{Index: index, Word: r.Word, Mask: 1 << r.Bit}, nil
}

// reference finds or makes the event of a command and gives it a write index of this file.
func (f *file) reference(text string) (*event, uint32, error) {
	e, err := f.k.findOrCreate(text)
	if err != nil {
		return nil, 0, err
	}
	refs := *f.refs.Load()
	if i := slices.Index(refs, e); i >= 0 {
		return e, uint32(i), nil
	}
	refs = append(slices.Clip(refs), e)
	f.refs.Store(&refs)
	e.files++
	return e, uint32(len(refs) - 1), nil
}

func (f *file) Unregister(word *atomic.Uintptr, bit uint8) error {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.refs.Load() == nil {
		return errno.EBADF
	}
	if k.page != nil {
		return nil
	}
	w := enabler{word, bit}
	e, ok := k.words[w]
	if !ok {
		return errno.ENOENT
	}
	delete(k.words, w)
	e.words = slices.DeleteFunc(e.words, func(o enabler) bool { return o == w })
	w.set(false)
	k.release(e)
	return nil
}

// AwaitRemoval returns false: this kernel removes events at once.
func (f *file) AwaitRemoval() bool { return false }

func (f *file) Delete(name string) error {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e := k.byName[name]; {
	case e == nil:
		return errno.ENOENT
	case e.busy():
		return errno.EBUSY
	default:
		k.destroy(e)
		return nil
	}
}

func (f *file) Fields(name string) (string, bool) {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.byName[name]; e != nil {
		return e.decl.FieldList(), true
	}
	return "", false
}

func (f *file) Lost() bool { return f.refs.Load() == nil }

func (f *file) Close() error {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	refs := f.refs.Swap(nil)
	if refs == nil {
		return errno.EBADF
	}
	k.files--
	for _, e := range *refs {
		e.files--
		k.release(e)
	}
	return nil
}
