package uevents

import (
	"math/bits"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
)

// enabledBackend is a backend whose events are enabled and whose writes cost nothing, so that a benchmark measures this
// package alone.
type enabledBackend struct {
	backend.Backend // the methods that no test calls
	word            atomic.Uintptr
}

func (*enabledBackend) ABI() backend.ABI                        { return backend.EnableAddress }
func (b *enabledBackend) NewWord() (*atomic.Uintptr, error)     { return &b.word, nil }
func (*enabledBackend) FreeWord(*atomic.Uintptr)                {}
func (*enabledBackend) Unregister(*atomic.Uintptr, uint8) error { return nil }
func (*enabledBackend) Write([]byte) error                      { return nil }
func (*enabledBackend) Close() error                            { return nil }

func (b *enabledBackend) Register(r backend.Request) (backend.Registration, error) {
	r.Word.Or(1 << r.Bit)
	return backend.Registration{Word: r.Word, Mask: 1 << r.Bit}, nil
}

func enabledEvent(tb testing.TB) *Event {
	p := newProvider(new(enabledBackend), TransportKernel, nil)
	tb.Cleanup(func() { assert.NoError(tb, p.Close()) })
	e, err := p.Register(tracepoint.Declaration{Name: "ev"}, nil)
	require.NoError(tb, err)
	return e
}

// TestTallies: the tallies of a registration are on stripes of their own, which other registrations use too.
func TestTallies(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cpus := range []int{1, 3, 48, 2, 8}[:testscale.Count(5, 2)] {
		runtime.GOMAXPROCS(cpus)
		var all tallies
		taken := map[uintptr]bool{}
		stripes := map[uintptr]bool{}
		const registrations = 3*perStripe - 1
		var kept [registrations]writes // so that none has the memory of an earlier one
		for r := range registrations {
			w := &kept[r]
			*w = all.take()
			own := map[uintptr]bool{}
			for i := 0; i < len(w.tallies); i += perStripe {
				at := reflect.ValueOf(&w.tallies[i]).Pointer()
				require.False(t, taken[at], "two registrations have one tally")
				taken[at] = true
				require.True(t, at%stripeSize+tallySize <= uintptr(stripeSize), "in one stripe")
				own[at/stripeSize] = true
				stripes[at/stripeSize] = true
			}
			require.GreaterOrEqual(t, len(own), min(maxStripes, stripesPerCPU*cpus))
			require.LessOrEqual(t, len(own), maxStripes)
			require.Equal(t, 1, bits.OnesCount(uint(len(own))))

			chosen := map[*tally]bool{}
			var keep [50 * maxStripes][]byte
			for i := range keep {
				keep[i] = make([]byte, 100+i)
				tl := w.at(keep[i])
				require.True(t, own[reflect.ValueOf(tl).Pointer()/stripeSize])
				chosen[tl] = true
			}
			require.Len(t, chosen, len(own), "all are used")
		}
		runtime.KeepAlive(&kept)
		assert.Len(t, stripes, 3*len(taken)/registrations, "%d CPUs: registrations share stripes", cpus)
		assert.EqualValues(t, tallySize, reflect.TypeFor[tally]().Size())
	}
}

// TestWritersApart: a write changes the tally of its buffer's stripe and nothing else of the registration, and few
// buffers in use have the same stripe.
func TestWritersApart(t *testing.T) {
	const writers, rounds = 8, 50
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(writers))
	sharing := 0
	for round := range rounds {
		e := enabledEvent(t)
		want := map[*tally]uint64{}
		on := map[*tally]int{}
		var wg sync.WaitGroup
		for i := range writers {
			rec := make([]byte, IndexSize+44<<(round%5)) // all sizes of allocations
			n := uint64(i + 1)
			tl := e.reg.writes.at(rec)
			want[tl] += n
			on[tl]++
			wg.Go(func() {
				for range n {
					written, err := e.WriteRecord(rec)
					assert.NoError(t, err)
					assert.True(t, written)
				}
			})
		}
		wg.Wait()
		w := &e.reg.writes
		for i := 0; i < len(w.tallies); i += perStripe {
			tl := &w.tallies[i]
			require.Equal(t, want[tl], tl.begun.Load())
			require.Equal(t, want[tl], tl.written.Load())
			if on[tl] > 1 {
				sharing += on[tl]
			}
		}
		require.Zero(t, w.disabled.Load()+w.refused.Load())
		require.Equal(t, EventStats{Written: writers * (writers + 1) / 2}, e.Stats())
	}
	t.Logf("of %d buffers %d have the stripe of another one", writers*rounds, sharing)
	assert.Less(t, sharing, writers*rounds/2)
}

// TestPooledBuffersApart: so have few of the buffers that the pool keeps for the CPUs.
func TestPooledBuffersApart(t *testing.T) {
	const writers, rounds = 8, 50
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(writers))
	e := enabledEvent(t)
	sharing := 0
	for range rounds {
		on := map[*tally]int{}
		lent := make([]*[]byte, writers)
		for i := range lent {
			lent[i] = bufpool.Get()
			on[e.reg.writes.at(*lent[i])]++
		}
		for i := range lent {
			if on[e.reg.writes.at(*lent[i])] > 1 {
				sharing++
			}
			if i%2 == 0 { // the others are new in the next round
				bufpool.Put(lent[i])
			}
		}
	}
	t.Logf("of %d buffers %d have the stripe of another one", writers*rounds, sharing)
	assert.Less(t, sharing, writers*rounds/2)
}
