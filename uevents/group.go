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
// Groups come from [Provider.NewGroup] and [Group.NewGroup]. Methods may be called
// concurrently.
type Group struct {
	word atomic.Pointer[atomic.Uint32]
	list atomic.Pointer[listed] // where to look if word is not zero

	p       *resources
	outer   *Group        // that this one is inside of, or nil
	words   []*sharedWord // enable-address kernels: the words that an outermost group owns
	members []place       // a place for each registered event; both under p.mu
}

// place is where the kernel tells about one event, or about several.
type place struct {
	word *atomic.Uint32
	mask uint32
}

// listed is a place in a list that does not change.
type listed struct {
	place
	next *listed
}

// sharedWord is a word of which a group's events have a bit each.
type sharedWord struct {
	word *atomic.Uint32
	used uint32 // the bits taken
}

// NewGroup returns a group without events, which is not enabled. Events join it at
// registration, by [EventOptions].
func (p *Provider) NewGroup() *Group { return newGroup(p.res, nil) }

// NewGroup returns a group inside of g: what joins it joins g, too, and is asked about
// together with the other events of g, or with those of the inner group alone.
func (g *Group) NewGroup() *Group { return newGroup(g.p, g) }

func newGroup(p *resources, outer *Group) *Group {
	g := &Group{p: p, outer: outer}
	g.word.Store(&never)
	return g
}

// Idle reports whether it is certain, after one load and one branch, that no event of the
// group is traced. It is the shortest question to ask of a large group, before a more
// precise one. Where the events are spread over several words it is never certain, unless
// all of them are closed.
func (g *Group) Idle() bool { return g.word.Load().Load() == 0 }

// Enabled reports whether any event of the group is traced. It calls nothing, so that a
// function that does nothing else needs no stack.
func (g *Group) Enabled() bool {
	if g.Idle() {
		return false
	}
	for l := g.list.Load(); l != nil; l = l.next {
		if l.word.Load()&l.mask != 0 {
			return true
		}
	}
	return false
}

// reserve takes a free bit of one of the words of the outermost group.
func (g *Group) reserve(b backend.Backend) (*sharedWord, uint8, error) {
	for g.outer != nil {
		g = g.outer
	}
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
	for ; g != nil; g = g.outer {
		g.members = append(g.members, m)
		g.publish()
	}
}

// leave undoes join.
func (g *Group) leave(m place) {
	for ; g != nil; g = g.outer {
		if i := slices.Index(g.members, m); i >= 0 {
			g.members = slices.Delete(g.members, i, i+1)
			g.publish()
		}
	}
}

// publish tells Enabled where to look.
func (g *Group) publish() {
	var places []place // one for each word
	for _, m := range g.members {
		i := slices.IndexFunc(places, func(p place) bool { return p.word == m.word })
		if i < 0 {
			i = len(places)
			places = append(places, place{word: m.word})
		}
		places[i].mask |= m.mask
	}
	var list *listed
	for _, p := range places {
		list = &listed{p, list}
	}
	g.list.Store(list)
	switch len(places) {
	case 0:
		g.word.Store(&never)
	case 1:
		g.word.Store(places[0].word)
	default:
		g.word.Store(always)
	}
}
