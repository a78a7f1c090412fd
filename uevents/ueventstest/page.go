package ueventstest

import (
	"math/bits"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
)

// pageSize is the size in bytes of the status page. It does not follow the machine's, so
// that a test behaves alike everywhere.
const pageSize = 4096

// statusPage is the page that kernels before 6.4 let programs map. A real one consists of
// bytes. Here it consists of the words that programs read.
type statusPage struct {
	words [pageSize * 8 / backend.WordBits]atomic.Uintptr
	// used has a bit for every index in use. Index 0 is never given out.
	used  []uint64
	width int // how many bits an event has: 1 or 8
}

func newStatusPage(abi backend.ABI) *statusPage {
	p := &statusPage{width: 1}
	if abi == backend.StatusByte {
		p.width = 8
	}
	p.used = make([]uint64, pageSize*8/p.width/64)
	p.used[0] = 1
	return p
}

// max is the number that user_events_status prints: indexes, the unused one included.
func (p *statusPage) max() int { return len(p.used) * 64 }

// take returns the lowest free index, unless the page is full.
func (p *statusPage) take() (index uint32, full bool) {
	for i, w := range p.used {
		if w != ^uint64(0) {
			bit := bits.TrailingZeros64(^w)
			p.used[i] |= 1 << bit
			return uint32(i*64 + bit), false
		}
	}
	return 0, true
}

func (p *statusPage) free(index uint32) { p.used[index/64] &^= 1 << (index % 64) }

// at returns what a program that registered an event with this index looks at.
func (p *statusPage) at(index uint32) (*atomic.Uintptr, uintptr) {
	bit := int(index) * p.width
	return &p.words[bit/backend.WordBits], (1<<p.width - 1) << (bit % backend.WordBits)
}

// set stores an event's status.
func (p *statusPage) set(index, status uint32) {
	word, mask := p.at(index)
	on := mask // any status sets a bit, and a byte is the status
	if p.width > 1 || status == 0 {
		on = uintptr(status) << bits.TrailingZeros(uint(mask))
	}
	// Never clear a bit that stays set, not even for a moment.
	word.Or(on)
	word.And(^mask | on)
}
