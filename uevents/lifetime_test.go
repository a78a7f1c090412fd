package uevents_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// word is an enable word.
type word = *atomic.Uintptr

// freeing makes a backend answer as a kernel that is still freeing bits: REG of them fails
// with EADDRINUSE, UNREG succeeds.
type freeing struct {
	*spy
	words map[word]bool // all bits of which are being freed
	until int           // calls of Register until they are free
}

func (f *freeing) Register(r backend.Request) (backend.Registration, error) {
	if f.until--; f.words[r.Word] && f.until >= 0 {
		f.spy.words = append(f.spy.words, r)
		return backend.Registration{}, errno.EADDRINUSE
	}
	return f.spy.Register(r)
}

func (f *freeing) Unregister(w word, bit uint8) error {
	if f.words[w] && f.until > 0 {
		return nil
	}
	return f.spy.Unregister(w, bit)
}

// NewWord hands out words of which the first ones are still being freed.
func (f *freeing) NewWord() (word, error) {
	w, err := f.spy.NewWord()
	if err == nil && len(f.words) < 3 {
		f.words[w] = true
	}
	return w, err
}

// TestBitStillBeingFreed: EADDRINUSE for a bit is no conflict of fields. The event gets
// another word.
func TestBitStillBeingFreed(t *testing.T) {
	for _, grouped := range []bool{false, true} {
		k := ueventstest.New(t, nil)
		s := &spy{Backend: backend.OpenSimulated(k)}
		f := &freeing{spy: s, words: map[word]bool{}, until: 1000}
		p := backend.NewProvider(f).(*uevents.Provider)
		var o *uevents.EventOptions
		if grouped {
			o = in(p.NewGroup())
		}
		ev := mustRegister(t, p, newName()+" u32 a", o)
		tried := map[word]bool{}
		for _, r := range s.words {
			tried[r.Word] = true
		}
		assert.Len(t, tried, 4, "three words that are busy, and one that is not")
		assert.Len(t, s.words, 4, "one attempt for each")
		assert.Equal(t, 1, s.inUse, "which is kept")
		tr := recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
		assert.True(t, ev.Enabled())
		tr.Detach()

		_, err := p.Register(declare(t, ev.Name()+" u64 a"), o)
		assert.ErrorIs(t, err, uevents.ErrConflict, "other fields are a conflict all the same")
		require.NoError(t, p.Close())
		assert.Zero(t, s.inUse)
	}
}

// TestBitFreedMeanwhile: the kernel is done with a bit when it is asked about.
func TestBitFreedMeanwhile(t *testing.T) {
	k := ueventstest.New(t, nil)
	f := &freeing{spy: &spy{Backend: backend.OpenSimulated(k)}, words: map[word]bool{}, until: 1}
	p := backend.NewProvider(f).(*uevents.Provider)
	ev := mustRegister(t, p, newName(), nil)
	require.Len(t, f.spy.words, 2)
	assert.Same(t, f.spy.words[0].Word, f.spy.words[1].Word)
	assert.Equal(t, f.spy.words[0].Bit, f.spy.words[1].Bit, "the same bit")
	require.NoError(t, ev.Close())
	require.NoError(t, p.Close())
}

// TestWriterInFlight: the descriptor stays open while a writer may use it, and the last
// writer closes it. Close does not wait.
func TestWriterInFlight(t *testing.T) {
	for _, eventFirst := range []bool{false, true} {
		s, p, ev, _ := newEnabled(t, nil)
		const writers = 3
		entered, leave := make(chan bool), make(chan bool)
		s.write = func([]byte) error {
			entered <- true
			<-leave
			assert.Zero(t, s.closed, "a writer must not reach a closed descriptor")
			return nil
		}
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				written, err := ev.WriteRecord(buffer("x"))
				assert.NoError(t, err)
				assert.True(t, written)
			})
			<-entered
		}
		if eventFirst {
			require.NoError(t, ev.Close())
		}
		require.NoError(t, p.Close())
		require.NoError(t, p.Close(), "twice")
		assert.Zero(t, s.inUse, "the word is free")
		notWritten(t, uevents.ErrClosed, ev, buffer("x"))
		for range writers {
			assert.Zero(t, s.closed)
			leave <- true
		}
		wg.Wait()
		assert.Equal(t, 1, s.closed, "by the last writer")
		assert.EqualValues(t, writers, ev.Stats().Written)
	}
}

// TestLateWriters: writers that begin while an event is being closed keep nothing from being closed.
func TestLateWriters(t *testing.T) {
	for range testscale.CountConcurrent(100, 15) {
		s, p, ev, tr := newEnabled(t, nil)
		var wg sync.WaitGroup
		var started atomic.Int32
		for range 4 {
			wg.Go(func() {
				started.Add(1)
				for err := error(nil); err == nil; {
					_, err = ev.WriteRecord(buffer("x"))
				}
			})
		}
		for started.Load() < 4 {
			runtime.Gosched()
		}
		require.NoError(t, p.Close())
		wg.Wait()
		tr.Detach()
		require.Equal(t, 1, s.closed)
	}
}

// TestCloseUnderWriters: a writer in flight during Close never reaches a closed descriptor, wherever its buffer is and
// however its write ends, and the counts are exact.
func TestCloseUnderWriters(t *testing.T) {
	const writers = 16
	for round := range testscale.CountConcurrent(200, 30) {
		s, p, ev, tr := newEnabled(t, nil)
		var closed atomic.Bool
		s.close = func() error {
			closed.Store(true)
			return s.Backend.Close()
		}
		var written, disabled, failed atomic.Uint64
		s.write = func(rec []byte) error {
			runtime.Gosched()
			if closed.Load() {
				t.Error("a write on a closed descriptor")
			}
			switch rec[uevents.IndexSize] {
			case 'd':
				disabled.Add(1)
				return errno.EBADF
			case 'f':
				failed.Add(1)
				return errno.EFAULT
			}
			written.Add(1)
			return nil
		}
		var wg sync.WaitGroup
		var started atomic.Int32
		for i := range writers {
			rec := buffer("wdwf"[i%4:] + strings.Repeat(" ", i*50))
			wg.Go(func() {
				for n := 0; ; n++ {
					if _, err := ev.WriteRecord(rec); errors.Is(err, uevents.ErrClosed) {
						return
					}
					if n == 0 {
						started.Add(1)
					}
				}
			})
		}
		for started.Load() < writers {
			runtime.Gosched()
		}
		if round%2 == 0 {
			require.NoError(t, ev.Close())
		}
		require.NoError(t, p.Close())
		wg.Wait()
		tr.Detach()
		require.True(t, closed.Load())
		require.Equal(t, 1, s.closed)
		require.Equal(t, uevents.EventStats{Written: written.Load(), Disabled: disabled.Load(), Refused: failed.Load()}, ev.Stats())
	}
}

// TestEventClosedUnderWriter: the last writer of a closed event leaves the descriptor to the provider's other events.
func TestEventClosedUnderWriter(t *testing.T) {
	s, p, k := newSpy(t, nil)
	ev, other := mustRegister(t, p, newName(), nil), mustRegister(t, p, newName(), nil)
	for _, e := range []*uevents.Event{ev, other} {
		tr := recordtest.Attach(t, k, ueventstest.Ftrace, e.Name())
		t.Cleanup(tr.Detach)
	}
	s.write = func([]byte) error { return ev.Close() }
	mustWrite(t, ev, buffer("x"))
	s.write = nil
	assert.Zero(t, s.closed)
	mustWrite(t, other, buffer("x"))
	require.NoError(t, p.Close())
	assert.Equal(t, 1, s.closed)
}

// TestNoWriterInFlight: without a writer Close closes the descriptor itself.
func TestNoWriterInFlight(t *testing.T) {
	s, p, k := newSpy(t, nil)
	ev := mustRegister(t, p, newName()+" u32 a", nil)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
	mustWrite(t, ev, buffer("1234"))
	notWritten(t, uevents.ErrShortBuffer, ev, buffer("123"))
	s.write = func([]byte) error { return errno.EBADF }
	notWritten(t, nil, ev, buffer("1234"))
	s.write = func([]byte) error { return errno.EFAULT }
	notWritten(t, errno.EFAULT, ev, buffer("1234"))
	tr.Detach()
	require.NoError(t, ev.Close())
	assert.Zero(t, s.closed)
	require.NoError(t, p.Close())
	assert.Equal(t, 1, s.closed)
}

// TestWriteErrno: EBADF is the kernel's answer for a disabled event. Any other errno is an error, and counted as one.
func TestWriteErrno(t *testing.T) {
	for _, abi := range []uevents.ABI{uevents.ABIEnableAddress, uevents.ABIStatusBit, uevents.ABIStatusByte} {
		s, _, ev, _ := newEnabled(t, &ueventstest.Options{ABI: abi})
		s.write = func([]byte) error { return errno.EBADF }
		notWritten(t, nil, ev, buffer("x"))
		for i, want := range []error{errno.EINVAL, errno.EFAULT} {
			s.write = func([]byte) error { return want }
			written, err := ev.WriteRecord(buffer("x"))
			assert.False(t, written)
			assert.ErrorIs(t, err, want)
			assert.NotErrorIs(t, err, uevents.ErrClosed)
			assert.Equal(t, uevents.EventStats{Disabled: 1, Refused: uint64(i) + 1}, ev.Stats())
		}
	}
}

// TestRegisterWhileClosing: an event whose registration fails because the provider is being closed is in none of its
// groups.
func TestRegisterWhileClosing(t *testing.T) {
	for range 100 {
		s, p, ev, _ := newEnabled(t, nil)
		for range 20 {
			mustRegister(t, p, newName(), nil) // Close takes a while
		}
		var closing sync.WaitGroup
		s.register = func(r backend.Request) (backend.Registration, error) {
			closing.Go(func() { assert.NoError(t, p.Close()) })
			for ev.Enabled() {
				runtime.Gosched()
			}
			return s.Backend.Register(r)
		}
		g := p.NewGroup()
		_, err := p.Register(ev.Declaration(), in(g))
		require.ErrorIs(t, err, uevents.ErrClosed)
		require.False(t, g.Enabled())
		closing.Wait()
	}
}

// TestBadDescriptor: EBADF says that the event is disabled, or that other code has closed the descriptor.
func TestBadDescriptor(t *testing.T) {
	s, _, ev, _ := newEnabled(t, nil)
	s.write = func([]byte) error { return errno.EBADF }
	notWritten(t, nil, ev, buffer("x"))
	s.lost = true
	notWritten(t, errno.EBADF, ev, buffer("x"))
	assert.Equal(t, uevents.EventStats{Disabled: 1, Refused: 1}, ev.Stats())
}
