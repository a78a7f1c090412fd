package uevents_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/uevents"
)

// absent is a file whose words are in a page of their own, which a test takes out of memory. It hands out the word that
// was freed last, so that the kernel may still be freeing its bits.
type absent struct {
	*abi.File
	page    []byte
	free    []word
	inUse   bool // what the last registration failed with was EADDRINUSE
	freeing int  // how often that was a bit still being freed
}

func newAbsent(t *testing.T, file string) *absent {
	f, err := abi.Open(file)
	require.NoError(t, err)
	a := &absent{File: f}
	a.page, err = sys.MapAnonymous(os.Getpagesize()) // never unmapped, like the library's
	require.NoError(t, err)
	for off := 0; off < len(a.page); off += words.Size {
		a.free = append(a.free, words.At(a.page, off))
	}
	return a
}

func (a *absent) NewWord() (word, error) {
	last := len(a.free) - 1
	w := a.free[last]
	a.free = a.free[:last]
	return w, nil
}

func (a *absent) FreeWord(w word) { a.free = append(a.free, w) }

func (a *absent) Register(r backend.Request) (backend.Registration, error) {
	answer, err := a.File.Register(r)
	a.inUse = errors.Is(err, errno.EADDRINUSE)
	return answer, err
}

func (a *absent) Unregister(w word, bit uint8) error {
	err := a.File.Unregister(w, bit)
	if a.inUse && err == nil {
		a.freeing++
	}
	a.inUse = false
	return err
}

// TestWordsNotInMemory: the kernel brings the page of an enable word back in the background, and frees a bit that is
// unregistered meanwhile late. New events get other bits, no bit changes after its event was closed, and a conflict of
// fields is still one.
func TestWordsNotInMemory(t *testing.T) {
	fs := kerneltest.Require(t)
	a := newAbsent(t, fs.Path(tracefs.DataFile))
	p := backend.NewProvider(a).(*uevents.Provider)
	defer func() { require.NoError(t, p.Close()) }()
	if p.ABI() != uevents.ABIEnableAddress {
		t.Skip("not on this kernel: enable words")
	}
	all, name := len(a.free), newName()
	kept := mustRegister(t, p, name, nil)
	e := kerneltest.NewInstance(t, fs, 64).Event(name)
	var events [8]*uevents.Event
	for _, o := range []*uevents.EventOptions{nil, in(p.NewGroup())} {
		register := func() {
			for i := range events {
				events[i] = mustRegister(t, p, name, o)
			}
		}
		unregister := func() {
			for _, ev := range events {
				require.NoError(t, ev.Close())
			}
		}
		for range 20 {
			register()
			require.NoError(t, syscall.Madvise(a.page, syscall.MADV_DONTNEED)) // all bits are 0
			require.NoError(t, e.Enable())
			unregister()
			register()
			for _, ev := range append(events[:], kept) {
				testscale.Eventually(t, ev.Enabled, "%s stays disabled", ev.Name())
				mustWrite(t, ev, buffer("x"))
			}
			unregister()
			require.NoError(t, e.Disable())
			require.False(t, kept.Enabled())
			for off := 0; off < len(a.page); off += words.Size {
				require.Zero(t, words.At(a.page, off).Load(), "a bit that is not registered")
			}
			_, err := p.Register(declare(t, name+" u64 a"), o)
			require.ErrorIs(t, err, uevents.ErrConflict)
		}
	}
	t.Logf("%d registrations met a bit that was being freed", a.freeing)
	require.NoError(t, p.Close())
	assert.Len(t, a.free, all)
}
