package perf

import (
	"fmt"
	"time"
)

// SourceStats counts records of an event. Each hit of the event is in exactly one count:
//
//	Matched == Read + Lost + Pending + Overwritten
//
// While a program writes the event, the counts are of slightly different moments. For a summary, call Session.Stop and
// read the rest first: then nothing is pending. A hit of the moment at which the event was disabled, which the kernel may
// count without recording it, is in Matched and Pending until then.
type SourceStats struct {
	Name     string // SYSTEM:NAME
	Matched  uint64 // hits of the event that matched its filter
	Read     uint64 // records taken out of the rings: returned by ReadInto or Snapshot, or excluded
	Excluded uint64 // the part of Read that Options.Processes excluded
	// Lost are records that the kernel did not write, because a ring was full; hits that it counted and of which no record
	// came; and records that were unread at Close.
	Lost    uint64
	Pending uint64 // recorded and unread
	// Overwritten are records that newer ones replaced before the last Snapshot. Later ones are in Pending.
	Overwritten uint64
	CountOnly   bool // Matched is the only count
	// AtLeast marks Lost as incomplete: before Linux 6.0 the kernel does not count the lost records of each event, which are
	// in Pending until the event is detached, or the session stopped, and the rest is read.
	AtLeast bool
	// Pauses counts the calls of Source.Pause that detached from the event, and Paused is for how long: records of that time are in no
	// other count.
	Pauses uint64
	Paused time.Duration
}

// Add adds the counts of another source.
func (t *SourceStats) Add(u SourceStats) {
	t.Matched += u.Matched
	t.Read += u.Read
	t.Excluded += u.Excluded
	t.Lost += u.Lost
	t.Pending += u.Pending
	t.Overwritten += u.Overwritten
	t.AtLeast = t.AtLeast || u.AtLeast
	t.Pauses += u.Pauses
	t.Paused += u.Paused
}

// State is the part of Stats that needs no system call.
type State struct {
	Rings int // one for each CPU and name of AttachOptions.Ring
	// CPUErr is the error of the last CPU that came online, if it lacks rings or events; else nil.
	CPUErr error
}

// State returns the state of the session, also after Close. It waits neither for the kernel nor for Attach and Detach.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{Rings: len(s.rings), CPUErr: s.cpuErr}
}

// Stats counts what a session recorded.
type Stats struct {
	State

	// Sources are attached or incompletely read events, in the order of Attach. Detached ones with losses or pauses stay until
	// Overran was called once after they were read, Stats after it, and Overran again; at most 1,000.
	Sources  []SourceStats
	Detached SourceStats // sum of all others that recorded
	// LostTaskRecords counts the lost records of the kinds Comm, Exec, Fork, Exit and Cgroup.
	LostTaskRecords uint64
	Late            uint64 // records delivered after newer ones, because they came later than Options.Window, or with a later Snapshot
	Malformed       uint64 // invalid records; not 0 only if there is a bug
	// BufferSize is the size of each ring in bytes, less than Options.BufferSize if there was not so much memory. Rings with a
	// name of AttachOptions.Ring may be smaller.
	BufferSize int
	CPUs       int // number of online CPUs
	// Descriptors is how many more descriptors the session may open: each event needs one for each CPU, and so does
	// each name in AttachOptions.Ring.
	Descriptors int
}

// Total returns the sum of all sources that record, including detached ones. Its Name is empty.
func (t *Stats) Total() SourceStats {
	total := t.Detached
	for _, u := range t.Sources {
		if !u.CountOnly {
			total.Add(u)
		}
	}
	return total
}

// Stats reads the counts of all events. It makes a system call for each event and CPU, and does not keep ReadInto waiting
// for them. After Close it returns the last counts.
func (s *Session) Stats() (Stats, error) {
	s.attach.Lock()
	defer s.attach.Unlock()
	t := Stats{LostTaskRecords: s.lostTasks, CPUs: len(s.cpus), Descriptors: max(s.free, 0), BufferSize: s.bufferSize()}
	sources, rings := s.lists()
	for _, src := range sources {
		if err := src.readCounts(); err != nil {
			return t, err
		}
	}
	for _, r := range rings {
		lost, err := r.lostTasks()
		if err != nil {
			return t, fmt.Errorf("counts of a ring: %w", err)
		}
		t.LostTaskRecords += lost
	}
	t.State = s.State()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, src := range s.sources {
		t.Sources = append(t.Sources, src.stats())
	}
	t.Detached, t.Late, t.Malformed = s.detached, s.late, s.malformed
	return t, nil
}

// lists returns the sources that are not completely read, and the rings.
func (s *Session) lists() ([]*Source, []*cpuRing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources, s.rings
}

// bufferSize returns the size of the rings, or of the largest if all have names.
func (s *Session) bufferSize() (size int) {
	if set := s.named[""]; set != nil {
		return set.size
	}
	if len(s.named) == 0 {
		return s.o.BufferSize
	}
	for _, set := range s.named {
		size = max(size, set.size)
	}
	return size
}

// Overran reports whether records may have been lost, or a pause has ended, since its last call: false means that Stats has no more losses. It
// reads the positions of the rings only, and so is much cheaper than Stats. In rings of up to 256 KiB and in those that are overwritten,
// records may always have been lost. A caller that calls Stats each time it is true learns all losses by event, also of those that were
// detached meanwhile.
func (s *Session) Overran() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetTold()
	overran := s.overran || s.o.Overwrite
	s.overran = false
	for _, r := range s.rings {
		overran = overran || r.queue.ring.overran(r.queue.ring.tail.Load())
	}
	return overran
}

func (src *Source) readCounts() error {
	for _, d := range src.enabled() {
		counts, err := d.event.read()
		if err != nil {
			return fmt.Errorf("counts of event %s: %w", src, err)
		}
		src.session.mu.Lock()
		d.counts = counts
		src.session.mu.Unlock()
	}
	return nil
}

// stats returns the counts of a source, as they were last read.
func (src *Source) stats() SourceStats {
	t := src.gone
	for _, d := range src.descriptors {
		t.Add(d.stats())
	}
	t.Name, t.CountOnly = src.String(), src.o.CountOnly
	if !src.paused.since.IsZero() {
		t.Paused += time.Since(src.paused.since)
	}
	if !t.CountOnly && len(src.descriptors) > 0 {
		t.AtLeast = src.session.noLost
		t.Pending = t.Matched - min(t.Matched, t.Read+t.Lost+t.Overwritten)
	}
	return t
}

func (d *descriptor) stats() SourceStats {
	return SourceStats{Matched: d.counts.Matched, Lost: d.counts.Lost, Read: d.read, Excluded: d.excluded, Overwritten: d.overwritten}
}
