package ueventstest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestEverythingAtOnce calls all methods from many goroutines, for the race detector, and
// then looks whether the books balance.
func TestEverythingAtOnce(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		const rounds = 200
		var wg sync.WaitGroup
		repeat := func(f func(i int) error) {
			wg.Go(func() {
				for i := range rounds {
					assert.NoError(t, f(i))
				}
			})
		}
		allow := func(err error, errs ...error) error {
			for _, e := range errs {
				if errors.Is(err, e) {
					return nil
				}
			}
			return err
		}
		word := new(atomic.Uintptr)
		for bit := range uint8(4) {
			repeat(func(i int) error {
				f := k.open()
				r, err := register(f, fmt.Sprintf("ev%d __rel_loc char[] a", i%3), word, bit)
				if err != nil {
					return err
				}
				buf := message(r.Index, location(0, 1), []byte{0})
				err = allow(f.Write(buf), errno.EBADF)
				_ = r.Word.Load() & r.Mask
				return errors.Join(err, f.Unregister(word, bit), f.Close())
			})
		}
		shared := k.open()
		for range 2 {
			repeat(func(i int) error {
				return allow(shared.Write(message(uint32(i%2), location(0, 1), []byte{0})), errno.EBADF, errno.ENOENT)
			})
		}
		repeat(func(i int) error {
			_, err := shared.Register(backend.Request{Command: fmt.Sprintf("ev%d __rel_loc char[] a", i%2), Word: new(atomic.Uintptr), Bit: 31})
			return err
		})
		for _, kind := range []Kind{Ftrace, Perf} {
			repeat(func(i int) error {
				tool, err := k.Attach(kind, fmt.Sprintf("ev%d", i%3))
				if err != nil {
					return allow(err, errno.ENOENT)
				}
				tool.Records()
				_, _ = tool.Lost(), tool.Oversized()
				tool.Detach()
				tool.Records()
				return nil
			})
		}
		repeat(func(int) error {
			_, _ = k.Status(), k.Events()
			_, err := k.Format("ev0")
			return errors.Join(allow(err, errno.ENOENT), allow(k.open().Delete("ev2"), errno.EBUSY, errno.ENOENT))
		})
		wg.Wait()

		assert.Zero(t, word.Load())
		for _, e := range k.Events() {
			assert.Zero(t, e.Ftrace+e.Perf, e.Name)
		}
		assert.NoError(t, shared.Close())
	})
}

// TestNothingAfterDetach has that a tool records nothing once Detach returned, whatever goroutine is
// writing.
func TestNothingAfterDetach(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev")
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if err := f.Write(message(0)); err != nil && !errors.Is(err, errno.EBADF) {
					t.Error(err)
				}
			}
		})
	}
	for range testscale.CountConcurrent(200, 30) {
		tool := mustAttach(t, k, Ftrace, "ev")
		tool.Detach()
		tool.Records()
		assert.Empty(t, tool.Records())
	}
	stop.Store(true)
	wg.Wait()
}

// TestRecordsAreInOrder has that concurrent writes are numbered as they are recorded,
// without gaps.
func TestRecordsAreInOrder(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev")
	tool := mustAttach(t, k, Perf, "ev")
	const writers, each = 8, 100
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				assert.NoError(t, f.Write(message(0)))
			}
		})
	}
	wg.Wait()
	records := tool.Records()
	require.Len(t, records, writers*each)
	for i, r := range records {
		require.Equal(t, uint64(i+1), r.Seq)
		require.False(t, i > 0 && r.Time.Before(records[i-1].Time.Add(-1e9)))
	}
}
