package uevents

import (
	"slices"
	"sync/atomic"
	"weak"
)

// several is the word of groups whose events are in more than one word: it is never zero.
var several = func() *atomic.Uintptr {
	w := new(atomic.Uintptr)
	w.Store(1)
	return w
}()

// Group is a set of events of one provider that a program asks about together: is any of
// them enabled? Events join groups at registration, by [EventOptions].
//
// On Linux 6.4 and later the events of a group share enable words, a bit each, of 64 events
// on 64-bit machines and 32 on others. While all are disabled, the check takes one load and
// one branch for the events of one word, and two loads more for each further word. Before
// Linux 6.4 the kernel assigns the status words; the check loads each word in use, normally
// one.
//
// Groups come from [Provider.NewGroup]. Methods may be called concurrently.
type Group struct {
	word  atomic.Pointer[atomic.Uintptr] // of the events: &never without events, &several if there are more words
	pairs atomic.Pointer[pair]           // all words with masks; read if word is not zero

	provider weak.Pointer[Provider] // weak: resources refer to groups, and must not keep the provider

	// Of all that follows the provider's resources.mu is the lock.
	own     []*sharedWord // words of the events whose first group this is; not of the status generations
	members map[place]int // how many of the group's registrations have the place
	places  []place       // the same by words
}

// place is a bit of an enable word that is set while an event is enabled, or several bits.
type place struct {
	word *atomic.Uintptr
	mask uintptr
}

// pair is two words in a list that does not change. Two at a time take fewer instructions
// than one.
type pair struct {
	a, b         *atomic.Uintptr // b is &never at the end of an odd number
	aMask, bMask uintptr
	next         *pair
	last         bool // no next; takes an instruction less to test than next
}

// noWords is the list of a group without events.
var noWords = pair{a: &never, b: &never, last: true}

// NewGroup returns a group without events, which is not enabled.
func (p *Provider) NewGroup() *Group {
	if p == nil {
		p = noProvider
	}
	g := &Group{provider: weak.Make(p), members: map[place]int{}}
	g.publish()
	return g
}

// Enabled reports whether any event of the group is enabled. It calls nothing, so that a
// function that does nothing else needs no stack.
func (g *Group) Enabled() bool { return g.word.Load().Load() != 0 && g.pairs.Load().anyBit() }

// anyBit reports whether the bit of any event of the list is set. It tests for words that are not zero first, which takes
// fewer instructions, and is a function of its own, so that Enabled is one expression: the compiler keeps the result of
// statements in a register and tests it again.
func (p *pair) anyBit() bool {
	for {
		if a, b := p.a.Load(), p.b.Load(); a|b != 0 && a&p.aMask|b&p.bMask != 0 {
			return true
		}
		if p.last {
			return false
		}
		p = p.next
	}
}

// join makes the checks look at an event.
func (g *Group) join(m place) {
	g.members[m]++
	if g.members[m] > 1 {
		return // the status generations have one place for all registrations of an event
	}
	i := slices.IndexFunc(g.places, func(p place) bool { return p.word == m.word })
	if i < 0 {
		i = len(g.places)
		g.places = append(g.places, place{word: m.word})
	}
	g.places[i].mask |= m.mask
	g.publish()
}

// leave undoes join.
func (g *Group) leave(m place) {
	g.members[m]--
	if g.members[m] > 0 {
		return
	}
	delete(g.members, m)
	i := slices.IndexFunc(g.places, func(p place) bool { return p.word == m.word })
	if g.places[i].mask &^= m.mask; g.places[i].mask == 0 {
		g.places = slices.Delete(g.places, i, i+1)
	}
	g.publish()
}

// publish makes the checks look at g.places.
func (g *Group) publish() {
	var list *pair
	for two := range slices.Chunk(g.places, 2) {
		list = &pair{a: two[0].word, aMask: two[0].mask, b: &never, next: list, last: list == nil}
		if len(two) > 1 {
			list.b, list.bMask = two[1].word, two[1].mask
		}
	}
	if list == nil {
		list = &noWords
	}
	g.pairs.Store(list)
	switch len(g.places) {
	case 0:
		g.word.Store(&never)
	case 1:
		g.word.Store(g.places[0].word)
	default:
		g.word.Store(several)
	}
}
