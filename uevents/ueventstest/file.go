package ueventstest

import (
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/registry"
)

// file is one open user_events_data.
type file struct {
	*registry.File[state]
	k *Kernel
}

func init() {
	backend.OpenSimulated = func(kernel any) backend.Backend { return kernel.(*Kernel).open() }
}

// open opens user_events_data.
func (k *Kernel) open() backend.Backend {
	k.events.Lock()
	defer k.events.Unlock()
	k.files++
	return &file{k.events.Open(), k}
}

func (f *file) ABI() backend.ABI { return f.k.abi }

// NewWord returns a word that Kernel.Close expects to be freed.
func (f *file) NewWord() (*atomic.Uintptr, error) {
	f.k.events.Lock()
	defer f.k.events.Unlock()
	word := new(atomic.Uintptr)
	f.k.allocated[word] = struct{}{}
	return word, nil
}

// FreeWord takes note of a word that a real kernel would still write to.
func (f *file) FreeWord(word *atomic.Uintptr) {
	f.k.events.Lock()
	defer f.k.events.Unlock()
	delete(f.k.allocated, word)
	for b, e := range f.k.events.Followed() {
		if b.Word == word {
			f.k.freedInUse = append(f.k.freedInUse, e.Decl.Name)
		}
	}
}

func (f *file) Register(r backend.Request) (backend.Registration, error) {
	e, index, err := f.File.Register(r)
	if err != nil {
		return backend.Registration{}, err
	}
	if f.k.page != nil {
		word, mask := f.k.page.at(e.State.slot)
		return backend.Registration{Index: index, Word: word, Mask: mask}, nil
	}
	return backend.Registration{Index: index, Word: r.Word, Mask: 1 << r.Bit}, nil
}

func (f *file) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	f.k.events.Lock()
	defer f.k.events.Unlock()
	f.k.files--
	return nil
}
