package uevents

import (
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/bufpool"
)

// writes counts the writes of a registration, and tells whether any is in flight. A write that the kernel takes changes
// nothing but a tally, and few writers share one: a cache line that several CPUs change moves between them with each
// record.
type writes struct {
	tallies []tally // of each stripe one, perStripe apart
	mask    uint64  // has the bits of an index of tallies

	_ [64]byte // keeps what follows off the cache line that each write reads
	// Writes that were not written; some of those that were refused did not begin.
	disabled, refused atomic.Uint64
}

// tally counts the writes of one registration on one stripe.
type tally struct {
	begun   atomic.Uint64 // without those that failed: greater than written by the writes in flight
	written atomic.Uint64
}

const (
	// stripeSize is the size of a stripe in bytes: two cache lines, since processors fetch them in pairs.
	stripeSize = 128
	tallySize  = 16
	perStripe  = stripeSize / tallySize

	// Writers choose stripes without knowing of each other. More stripes than CPUs make it rare that
	// two choose the same.
	stripesPerCPU = 4
	maxStripes    = 64
)

// tallies hands out the tallies of a provider's registrations. Registrations share stripes, so that each takes no more
// memory than its tallies.
type tallies struct {
	block []tally // all stripes for perStripe registrations
	used  int     // how many of them have their tallies
}

// take returns the writes of a new registration.
func (t *tallies) take() writes {
	if t.block == nil || t.used == perStripe {
		stripes := 1 << bits.Len(uint(min(maxStripes, stripesPerCPU*runtime.GOMAXPROCS(0))-1))
		t.block, t.used = make([]tally, stripes*perStripe), 0
	}
	t.used++
	return writes{tallies: t.block[t.used-1:], mask: uint64(len(t.block) - perStripe)}
}

// at returns the tally for the writer of a record.
func (w *writes) at(rec []byte) *tally {
	const indexes = maxStripes * perStripe
	return &w.tallies[bufpool.Spread(rec)/(math.MaxUint64/indexes+1)&w.mask]
}

// written returns how many writes the kernel took.
func (w *writes) written() (n uint64) {
	for i := 0; i < len(w.tallies); i += perStripe {
		n += w.tallies[i].written.Load()
	}
	return n
}

// inFlight reports whether a writer may be about to use the backend. Once the registration
// is closed, a false answer is final: a writer that begins later sees that it is closed.
func (w *writes) inFlight() bool {
	for i := 0; i < len(w.tallies); i += perStripe {
		// In this order: written only grows, so if begun has the same value a moment later, no write was in flight then.
		written := w.tallies[i].written.Load()
		if w.tallies[i].begun.Load() != written {
			return true
		}
	}
	return false
}

// abort takes back the beginning of a write that was not written. The last writer in flight after a Close closes the
// backend.
func (reg *registration) abort(t *tally) {
	t.begun.Add(^uint64(0))
	if reg.closed.Load() {
		reg.res.drain(reg)
	}
}
