package ueventstest

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
)

// pageSize is the size in bytes of the status page. It does not follow the machine's, so
// that a test behaves alike everywhere.
const pageSize = 4096

// wordSize is the size in bytes of the native words that programs read.
const wordSize = backend.WordBits / 8

// statusPage is the page that kernels before 6.4 let programs map. A real one consists of
// bytes. Here it consists of the words that programs read, in the host's byte order.
type statusPage struct {
	words [pageSize / wordSize]atomic.Uintptr
	// used has a bit for every index in use. Index 0 is never given out.
	used []uint64
	byte bool // an event has a byte, not a bit
}

func newStatusPage(abi backend.ABI) *statusPage {
	n := pageSize
	if abi == backend.StatusBit {
		n *= 8
	}
	p := &statusPage{used: make([]uint64, n/64), byte: abi == backend.StatusByte}
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

// place says where the word of an index is, how far to shift its bits, and which of the
// word's bits belong to it.
func (p *statusPage) place(index uint32, bigEndian bool) (word *atomic.Uintptr, shift int, mask uintptr) {
	offset, mask := int(index), uintptr(0xff)
	if !p.byte {
		offset, mask = int(index/8), 1<<(index%8)
	}
	inWord := offset % wordSize
	if bigEndian {
		inWord = wordSize - 1 - inWord
	}
	shift = 8 * inWord
	return &p.words[offset/wordSize], shift, mask << shift
}

// at returns what a program that registered an event with this index looks at.
func (p *statusPage) at(index uint32) (*atomic.Uintptr, uintptr) {
	word, _, mask := p.place(index, hostBigEndian)
	return word, mask
}

// set stores an event's status.
func (p *statusPage) set(index, status uint32) {
	word, shift, mask := p.place(index, hostBigEndian)
	switch {
	case status == 0:
		word.And(^mask)
	case p.byte:
		// Never clear a byte that stays in use, not even for a moment.
		word.Or(uintptr(status) << shift)
		word.And(^mask | uintptr(status)<<shift)
	default:
		word.Or(mask)
	}
}

var hostBigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1
