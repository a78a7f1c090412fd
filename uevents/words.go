package uevents

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
)

// sharedWord is an enable word in which registrations have a bit each. It goes back to the
// backend with the last of them.
type sharedWord struct {
	word  *atomic.Uintptr
	group *Group  // whose word it is, or nil: an event without a group has a word to itself
	used  uintptr // the bits taken
	next  int     // where the search for a free bit begins
}

// enableBit is a bit of a word that a registration has taken.
type enableBit struct {
	*sharedWord
	bit uint8
}

// takeBit takes a free bit of one of a group's words, or of a new word. With fresh it is
// always a new word.
func (r *resources) takeBit(g *Group, fresh bool) (enableBit, error) {
	if g != nil && !fresh {
		for _, w := range g.own {
			if w.used != ^uintptr(0) {
				return w.take(), nil
			}
		}
	}
	word, err := r.backend.NewWord()
	if err != nil {
		return enableBit{}, err
	}
	w := &sharedWord{word: word, group: g}
	if g != nil {
		g.own = append(g.own, w)
	}
	return w.take(), nil
}

// take takes a free bit, of which there must be one: the next behind the bit taken last, so
// that the bit freed first is used again first.
func (w *sharedWord) take() enableBit {
	free := bits.RotateLeft(uint(^w.used), -w.next)
	bit := (w.next + bits.TrailingZeros(free)) % backend.WordBits
	w.used |= 1 << bit
	w.next = (bit + 1) % backend.WordBits
	return enableBit{w, uint8(bit)}
}

// freeBit undoes takeBit. The kernel must have no registration of the bit.
func (r *resources) freeBit(b enableBit) {
	w := b.sharedWord
	if w.used &^= 1 << b.bit; w.used != 0 {
		return
	}
	if w.group != nil {
		w.group.own = slices.DeleteFunc(w.group.own, func(o *sharedWord) bool { return o == w })
	}
	r.backend.FreeWord(w.word)
}
