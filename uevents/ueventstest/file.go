package ueventstest

import (
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
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
			f.k.freedInUse = append(f.k.freedInUse, e.name)
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
	if k.page != nil {
		return f.registerOld(r)
	}
	if r.Flags&^(backend.FlagPersist|backend.FlagMultiFormat) != 0 || r.Bit >= backend.WordBits {
		return backend.Registration{}, errno.EINVAL
	}
	bit := enabler{r.Word, r.Bit}
	if _, taken := k.words[bit]; taken {
		return backend.Registration{}, errno.EADDRINUSE
	}
	e, index, err := f.reference(r.Command, r.Flags)
	if err != nil {
		return backend.Registration{}, err
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

func (f *file) registerOld(r backend.Request) (backend.Registration, error) {
	if r.Flags != 0 {
		return backend.Registration{}, errno.EINVAL
	}
	e, index, err := f.reference(r.Command, 0)
	if err != nil {
		return backend.Registration{}, err
	}
	word, mask := f.k.page.at(e.slot)
	return backend.Registration{Index: index, Word: word, Mask: mask}, nil
}

// reference finds or makes the event of a command and gives it a write index of this file.
func (f *file) reference(text string, flags uint16) (*event, uint32, error) {
	text, err := userString(text)
	if err != nil {
		return nil, 0, err
	}
	e, err := f.k.findOrCreate(text, flags)
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
	name, err := userString(name)
	if err != nil {
		return err
	}
	err = errno.ENOENT
	// With several formats, all of them go: the newest first, until one is in use.
	for _, e := range slices.Backward(slices.Clone(k.byName[name])) {
		if err = k.remove(e); err != nil {
			return err
		}
	}
	return err
}

func (f *file) Fields(name string) (string, bool) {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if same := k.byName[name]; len(same) > 0 {
		return fieldList(same[0].fields), true
	}
	return "", false
}

func (f *file) MultiFormat(name, fields string) (string, bool) {
	k := f.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.byName[name] {
		if e.system == tracepoint.MultiSystem && fieldList(e.fields) == fields {
			return e.name, true
		}
	}
	return "", false
}

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
