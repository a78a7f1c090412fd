package attach

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
)

// Options are what a tool asks for. The zero value means defaults.
type Options struct {
	// RingSize is the size of all rings together in bytes, a power of two. 0 means 1 MiB.
	RingSize int
	// Limit is how many records of an event the program writes in a second of CLOCK_MONOTONIC, 0 for all. At the next one it takes
	// the session's request for the event away, until [Session.Resume].
	Limit int
	// Callers is how many return addresses a record has at most, up to 64.
	Callers int
	// Expires is the time of Now in nanoseconds from which on the program ends the session when its rings are full. 0 is
	// never.
	Expires uint64
	// Wants selects events; nil selects those that Patterns match. Patterns must match all that it selects.
	Wants func(Event) bool
	// Attached is called for each event that is selected, also if Keep had dropped it before.
	Attached func(*Source)
	// Keep is asked by [Programs.Reselect] about each event that is enabled. Without it all stay enabled.
	Keep func(*Source) bool
	// Patterns are names of events, with the wildcards of [path.Match]. They also hold for events that are registered later.
	Patterns []string
}

// Limits of options.
const (
	MaxCallers  = layout.Callers
	MaxPatterns = layout.Patterns // bytes, with one for each
	MinRing     = layout.MinRing  // bytes
	MaxRing     = layout.MaxRing
)

const defaultRingSize = 1 << 20

// RingSize returns the size of each ring if a tool asks for a size of all together: there is one for each of the program's
// processors, but none that a few records fill.
func RingSize(all, processors int) int {
	const least = 16 << 10
	all = cmp.Or(all, defaultRingSize)
	return all / min(1<<bits.Len(uint(max(processors, 1)-1)), layout.Rings, max(1, all/least))
}

// Source is an event of a session.
type Source struct {
	Event

	Read uint64 // records that were returned
	User any    // of the caller

	session *Session
	limited limited
	off     bool // it was not kept; records that were written before are still returned

	// Used by Reader:
	name        string
	unwanted    uint64 // records that are not selected
	atLeast     bool   // there were more
	kept        int    // records in the window
	overwritten uint64 // records that left it before a Snapshot
	ended       bool   // the memory is gone; final is the number of lost records
	final       uint64
}

// Lost returns how many records found no room.
func (s *Source) Lost() uint64 { return s.session.Lost(s.ID) }

// Session is an attached tool.
type Session struct {
	p          *Program
	i          int
	generation uint64
	o          Options
	sources    []*Source // by number; nil for those that are not wanted
	area       []byte
	size       uint64
	rings      []*ring.Reader // nil until the program has opened the session
	count      int            // of rings
	seen       uint32         // numbers of events below this were looked at
	wanted     []uint32
	unwanted   bool   // a record of an event that is not wanted was read
	own        batch  // of Read
	held       int    // bytes in a batch
	complete   uint64 // a time: all older records were read
	losses     *[2]layout.Losses
	limitKept  uint64 // time of the last keepLimit
	paused     bool   // Source.Pause has disabled events
	stopped    bool   // disable was called
}

// ErrBusy says that as many tools are attached as can be.
var ErrBusy = errors.New("all sessions of the program are taken")

// Attach takes a session, and enables the events.
func (p *Program) Attach(o Options) (*Session, error) {
	text := strings.Join(o.Patterns, "\x00") + "\x00"
	if len(text) > layout.Patterns {
		return nil, fmt.Errorf("the patterns have %d bytes, and there is room for %d", len(text), layout.Patterns)
	}
	for _, pattern := range o.Patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	all := cmp.Or(uint64(o.RingSize), defaultRingSize)
	if bits.OnesCount64(all) != 1 || all < layout.MinRing || all > layout.MaxRing {
		return nil, fmt.Errorf("a size of %d bytes: it has to be a power of two from %d to %d", all, layout.MinRing, layout.MaxRing)
	}
	s := &Session{p: p, o: o}
	for s.i = 0; p.taken&(1<<s.i) != 0 || !sys.LockByte(p.controlFD, s.i); s.i++ {
		if s.i == layout.Sessions-1 {
			return nil, ErrBusy
		}
	}
	p.taken |= 1 << s.i
	s.clearWishes() // of a tool that was killed
	s.size = uint64(RingSize(int(all), p.Processors()))
	s.count = int(all / s.size)
	var err error
	if s.area, err = sys.MapPart(p.dataFD, layout.RingsOffset(s.i), layout.RingsStart+int(all), true); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	p.areas[s.i] = s.area
	s.losses = &p.data.Lost[s.i]
	c := &p.control.Sessions[s.i]
	c.RingSize.Store(s.size)
	c.Rings.Store(uint32(s.count))
	c.Limit.Store(uint32(o.Limit))
	c.Callers.Store(uint32(o.Callers))
	if o.Expires > 0 {
		o.Expires += uint64(p.ahead)
	}
	c.Expires.Store(o.Expires)
	copy(c.Patterns[:], text)
	c.PatternsSize.Store(uint32(len(text)))
	// Other than all that the program knows, whatever tools left in the file.
	shown := &p.data.Sessions[s.i]
	s.generation = c.Generation.Load() + 1
	for s.generation == 0 || s.generation == shown.Noticed.Load() || s.generation == shown.Opened.Load() {
		s.generation++
	}
	c.Generation.Store(s.generation)
	p.control.Claimed.Or(1 << s.i)
	s.Update()
	return s, nil
}

// Update enables the events that match and that the program registered since the last call. The program enables them itself when
// it registers them, unless it did so while Attach ran.
func (s *Session) Update() {
	if s.unwanted {
		s.refuse()
	}
	if s.p.data.Count.Load() == s.seen {
		return
	}
	var list []Event
	list, s.seen = s.p.Events(s.seen)
	var changed []uint32
	for _, e := range list {
		if s.o.wants(e) {
			s.want(e, s.limitKept)
		} else {
			s.p.control.Requests[e.ID].And(^uint32(1 << s.i)) // a pattern matched
		}
		changed = append(changed, e.ID)
	}
	s.p.refresh(changed)
}

// want requests for an event, of which a limit may have been looked at before. The caller calls refresh.
func (s *Session) want(e Event, looked uint64) {
	request := &s.p.control.Requests[e.ID]
	for len(s.sources) <= int(e.ID) {
		s.sources = append(s.sources, nil)
	}
	src := s.sources[e.ID]
	if src == nil {
		src = &Source{Event: e, session: s}
		s.sources[e.ID] = src
	}
	src.off = false
	if s.o.Limit > 0 {
		src.limited.begin(request.Load()&(1<<s.i) != 0, looked)
	}
	s.wanted = append(s.wanted, e.ID)
	if s.o.Attached != nil {
		s.o.Attached(src)
	}
	if !s.stopped { // else it is one that the program enabled before
		request.Or(1 << s.i)
	}
}

// reselect asks about all events again that Update has looked at: first about those that are enabled, which may make room for others.
func (s *Session) reselect() {
	var changed []uint32
	for _, src := range s.attached() {
		if src.off || s.o.Keep == nil || s.o.Keep(src) {
			continue
		}
		src.off = true
		src.limited.end(Now())
		s.p.control.Requests[src.ID].And(^uint32(1 << s.i))
		changed = append(changed, src.ID)
	}
	s.wanted = slices.DeleteFunc(s.wanted, func(id uint32) bool { return s.sources[id].off })
	list, _ := s.p.Events(0)
	for _, e := range list {
		if src := s.source(e.ID); e.ID < s.seen && (src == nil || src.off) && s.o.wants(e) {
			s.want(e, 0)
			changed = append(changed, e.ID)
		}
	}
	s.p.refresh(changed)
}

// refuse disables the events that are not wanted, but that a pattern matches: the program enables them when it registers them again.
func (s *Session) refuse() {
	s.unwanted = false
	var changed []uint32
	for id := range s.seen {
		if w, src := &s.p.control.Requests[id], s.source(id); (src == nil || src.off) && w.Load()&(1<<s.i) != 0 {
			w.And(^uint32(1 << s.i))
			changed = append(changed, id)
		}
	}
	s.p.refresh(changed)
}

func (o *Options) wants(e Event) bool {
	if o.Wants != nil {
		return o.Wants(e)
	}
	match := func(pattern string) bool { ok, _ := path.Match(pattern, e.Declaration.Name); return ok }
	return slices.ContainsFunc(o.Patterns, match)
}

// attached returns the events that are wanted.
func (s *Session) attached() []*Source {
	return slices.DeleteFunc(slices.Clone(s.sources), func(s *Source) bool { return s == nil })
}

func (s *Session) source(id uint32) *Source {
	if uint64(id) < uint64(len(s.sources)) {
		return s.sources[id]
	}
	return nil
}

// Renew sets the expiry. A session that had expired, since this process was stopped, goes on. It returns for how long at most the
// program had disabled the events, whose records are in no count then; 0 if it had not.
func (s *Session) Renew(d time.Duration) (disabled time.Duration) {
	now := int64(Now()) + s.p.ahead
	expired := time.Duration(now - int64(s.p.control.Sessions[s.i].Expires.Swap(uint64(now+int64(d)))))
	if s.p.control.Claimed.Load()&(1<<s.i) != 0 {
		return 0
	}
	s.p.control.Claimed.Or(1 << s.i)
	s.Resume()
	if expired <= 0 { // the program had looked before the last call
		expired += d
	}
	return expired
}

// Resume enables the events again that the limit has disabled, and returns their numbers.
func (s *Session) Resume() (stopped []uint32) {
	for _, id := range s.wanted {
		if w := &s.p.control.Requests[id]; w.Load()&(1<<s.i) == 0 {
			w.Or(1 << s.i)
			stopped = append(stopped, id)
		}
	}
	s.p.refresh(stopped)
	return stopped
}

// refresh sets the enable bits of events, or clears those of events that no session wants any more.
func (p *Program) refresh(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	var asked [layout.Events]bool
	for _, id := range ids {
		asked[id] = true
	}
	for w := range min(p.data.InUse.Load(), layout.Words) {
		for b := range p.data.Gates[w] {
			id := p.data.Gates[w][b].Load() - 1
			if id >= layout.Events || !asked[id] {
				continue
			}
			word := &p.control.Words[w]
			if !p.wanted(id) {
				word.And(^uint64(1 << b))
			}
			if p.wanted(id) { // also if that came meanwhile
				word.Or(1 << b)
			}
		}
	}
}

// wanted reports whether a session wants an event. Other bits mean nothing.
func (p *Program) wanted(id uint32) bool {
	return p.control.Requests[id].Load()&layout.AllSessions != 0
}

// open looks whether the program has opened the session.
func (s *Session) open() bool {
	shown := &s.p.data.Sessions[s.i]
	if s.rings != nil {
		return true
	}
	if shown.Opened.Load() != s.generation {
		return false
	}
	heads := layout.HeadsAt(s.area)
	tails := &s.p.control.Sessions[s.i].Tails
	for i := range s.count {
		data := s.area[layout.RingsStart+i*int(s.size):]
		s.rings = append(s.rings, ring.NewReader(&heads[i], &tails[i], data, s.size, shown.Key))
	}
	return true
}

// collect copies what the program has written. All that is older than s.complete is among it then.
func (s *Session) collect(b *batch, now uint64) {
	complete := true
	if s.open() {
		for _, r := range s.rings {
			head := r.Head()
			b.collect(s, r, now)
			if s.held < 2*int(s.size)*s.count { // else records of the other rings wait for one that is not complete
				r.Release()
			}
			complete = complete && (r.Position() >= head || r.Malformed)
		}
	}
	if complete {
		s.complete = now
	}
}

// drain copies what is left, after the program has ended or has closed the memory, or the tool has disabled the events.
func (s *Session) drain(b *batch) {
	if s.open() {
		for _, r := range s.rings {
			for again := true; again; again = r.Skip() {
				b.collect(s, r, Now())
			}
		}
	}
	s.complete = math.MaxUint64
}

// Read returns the records that are known to be the next ones, in the order of time.
func (s *Session) Read() []Record {
	s.Update()
	s.collect(&s.own, Now()) // the clock before the heads
	return s.takeAll()
}

// Drain returns all that is left, after the program has ended.
func (s *Session) Drain() []Record {
	s.drain(&s.own)
	return s.takeAll()
}

func (s *Session) takeAll() (list []Record) {
	s.own.release(s.complete)
	for r := (Record{}); s.own.take(&r); {
		r.Callers, r.Raw = slices.Clone(r.Callers), slices.Clone(r.Raw)
		list = append(list, r)
	}
	s.own.compact()
	return list
}

// Lost returns how many records of an event found no room.
func (s *Session) Lost(id uint32) (n uint64) {
	s.p.guard(func() { n = s.lost(id) })
	return n
}

func (s *Session) lost(id uint32) uint64 {
	shown := &s.p.data.Sessions[s.i]
	if shown.Noticed.Load() != s.generation || id >= layout.Events {
		return 0
	}
	return s.losses[shown.Bank.Load()&1][id].Load()
}

func (s *Session) clearWishes() {
	s.p.control.Claimed.And(^uint32(1 << s.i))
	s.p.control.Sessions[s.i].PatternsSize.Store(0)
	for id := range min(s.p.data.Count.Load(), layout.Events) {
		if w := &s.p.control.Requests[id]; w.Load()&(1<<s.i) != 0 {
			w.And(^uint32(1 << s.i))
		}
	}
}

// disable disables the events, unless other tools want them.
func (s *Session) disable() {
	s.stopped = true
	s.p.guard(func() {
		s.clearWishes()
		s.p.refresh(s.wanted)
	})
}

// Detach disables the events, unless other tools want them, and leaves the session to the next tool. Records that were not read are lost.
func (s *Session) Detach() error {
	s.disable()
	s.p.areas[s.i] = nil
	return errors.Join(sys.UnmapBytes(s.area), s.unlock())
}

func (s *Session) unlock() error {
	s.p.taken &^= 1 << s.i
	return sys.UnlockByte(s.p.controlFD, s.i)
}
