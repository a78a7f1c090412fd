package uevents

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
)

// always is the word of groups that have to look at more than one word.
var always = func() *atomic.Uint32 {
	w := new(atomic.Uint32)
	w.Store(1)
	return w
}()

// Group is a set of events of one provider with a common question: is any of them traced?
// On Linux 6.4 and later the events share one word, a bit each, so that the answer is one
// load and one branch for up to 32 events. With more events, and on older kernels, whose
// words the kernel chooses, it takes a load for every word that the events are spread over.
//
// Groups come from [Provider.NewGroup]. Methods may be called concurrently.
type Group struct {
	word atomic.Pointer[atomic.Uint32]
	// spread lists the words to look at; nil while word says everything.
	spread atomic.Pointer[[]place]

	p       *resources
	words   []*sharedWord // enable-address kernels: the words that the group owns
	members []place       // a place for each registered event; both under p.mu
}

// place is where the kernel tells about one event, or about several.
type place struct {
	word *atomic.Uint32
	mask uint32
}

// sharedWord is a word of which a group's events have a bit each.
type sharedWord struct {
	word *atomic.Uint32
	used uint32 // the bits taken
}

// NewGroup returns a group without events, which is not enabled. Events join it at
// registration, by [EventOptions].
func (p *Provider) NewGroup() *Group {
	g := &Group{p: p.res}
	g.word.Store(&never)
	return g
}

// Enabled reports whether any event of the group is traced.
func (g *Group) Enabled() bool {
	return g.word.Load().Load() != 0 && (g.spread.Load() == nil || g.anyEnabled())
}

func (g *Group) anyEnabled() bool {
	spread := g.spread.Load()
	if spread == nil {
		return true // the word alone says so again
	}
	for _, m := range *spread {
		if m.word.Load()&m.mask != 0 {
			return true
		}
	}
	return false
}

// reserve takes a free bit of one of the group's words.
func (g *Group) reserve(b backend.Backend) (*sharedWord, uint8, error) {
	for _, w := range g.words {
		if w.used != math.MaxUint32 {
			bit := uint8(bits.TrailingZeros32(^w.used))
			w.used |= 1 << bit
			return w, bit, nil
		}
	}
	word, err := b.NewWord()
	if err != nil {
		return nil, 0, err
	}
	w := &sharedWord{word: word, used: 1}
	g.words = append(g.words, w)
	return w, 0, nil
}

// join makes Enabled look at an event.
func (g *Group) join(m place) {
	g.members = append(g.members, m)
	g.publish()
}

// leave undoes join.
func (g *Group) leave(m place) {
	if i := slices.Index(g.members, m); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
		g.publish()
	}
}

// publish tells Enabled where to look.
func (g *Group) publish() {
	var spread []place // a place for each word
	for _, m := range g.members {
		i := slices.IndexFunc(spread, func(s place) bool { return s.word == m.word })
		if i < 0 {
			i = len(spread)
			spread = append(spread, place{word: m.word})
		}
		spread[i].mask |= m.mask
	}
	switch {
	case len(spread) == 0:
		g.word.Store(&never)
	case len(spread) == 1 && len(g.words) > 0:
		// Nobody else has a bit in the group's own word.
		g.spread.Store(nil)
		g.word.Store(spread[0].word)
	case len(spread) == 1:
		// The kernel's word: zero says no, other values may be about other events.
		g.spread.Store(&spread)
		g.word.Store(spread[0].word)
	default:
		g.spread.Store(&spread)
		g.word.Store(always)
	}
}
