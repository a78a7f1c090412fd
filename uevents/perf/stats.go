package perf

import (
	"fmt"
	"maps"
	"slices"

	"github.com/userevents/userevents-go/internal/sys"
)

// SourceStats counts records of an event. Each hit of the event is in exactly one count:
//
//	Matched == Read + Lost + Pending + Overwritten
//
// The equation is exact while no program writes the event. Otherwise the counts are of slightly different moments. For
// a summary, call Session.Stop and read the rest first. A record that is being written while its event is disabled may
// be in Matched alone until the rest is read.
type SourceStats struct {
	Name     string // SYSTEM:NAME
	Matched  uint64 // hits of the event that matched its filter
	Read     uint64 // records taken out of the rings: returned by ReadInto or Snapshot, or excluded
	Excluded uint64 // the part of Read that Options.Processes excluded
	// Lost are records that the kernel did not write, because a ring was full or a Snapshot was copying it, and records
	// that were unread at Close.
	Lost    uint64
	Pending uint64 // recorded and unread
	// Overwritten are records that newer ones replaced before the last Snapshot. Later ones are in Pending.
	Overwritten uint64
	CountOnly   bool // Matched is the only count
	// AtLeast marks Lost as the difference of the other counts, which is too low while programs write: before Linux 6.0
	// the kernel does not count the lost records of each event.
	AtLeast bool
}

func (t *SourceStats) add(u SourceStats) {
	t.Matched += u.Matched
	t.Read += u.Read
	t.Excluded += u.Excluded
	t.Lost += u.Lost
	t.Pending += u.Pending
	t.Overwritten += u.Overwritten
	t.AtLeast = t.AtLeast || u.AtLeast
}

// Stats counts what a session recorded.
type Stats struct {
	Sources  []SourceStats // attached or incompletely read events, in the order of Attach
	Detached SourceStats   // sum of all other events
	// TaskRecords and LostTaskRecords count the records of the kinds Comm, Fork and Exit that were read and lost.
	TaskRecords, LostTaskRecords uint64
	Late                         uint64 // records delivered after newer ones, because they came later than Options.Window
	Malformed                    uint64 // invalid records; not 0 only if there is a bug
	// BufferSize is the size of each ring in bytes, less than Options.BufferSize if there was not so much memory. Rings with a
	// name of AttachOptions.Ring may be smaller.
	BufferSize int
	Rings      int // one for each CPU and name of AttachOptions.Ring
	CPUs       int // number of online CPUs
	// Descriptors is how many more descriptors the session may open: each event needs one for each CPU, and so does
	// each name in AttachOptions.Ring.
	Descriptors int
	// CPUErr is the error of the last CPU that came online, if it lacks rings or events; else nil.
	CPUErr error
}

// Total returns the sum of all sources that record, including detached ones. Its Name is empty.
func (t *Stats) Total() SourceStats {
	total := t.Detached
	for _, u := range t.Sources {
		if !u.CountOnly {
			total.add(u)
		}
	}
	return total
}

// Stats reads the counts of all events. It makes a system call for each event and CPU. After Close it returns the last
// counts.
func (s *Session) Stats() (Stats, error) {
	s.attach.Lock()
	defer s.attach.Unlock()
	s.mu.Lock()
	sources, rings := s.sources, s.rings
	s.mu.Unlock()
	var t Stats
	live := make([]sys.PerfCounts, len(sources))
	for i, src := range sources {
		var err error
		if live[i], err = src.readCounts(); err != nil {
			return t, fmt.Errorf("counts of event %s: %w", src, err)
		}
	}
	t.LostTaskRecords = s.lostTasks
	for _, r := range rings {
		lost, err := r.lostTasks()
		if err != nil {
			return t, fmt.Errorf("counts of a ring: %w", err)
		}
		t.LostTaskRecords += lost
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookIntoRings()
	for i, src := range sources {
		if !src.final {
			t.Sources = append(t.Sources, src.stats(src.total(live[i]), s.noLost))
		}
	}
	t.Detached, t.TaskRecords, t.Late, t.Malformed = s.detached, s.tasks, s.late, s.malformed
	t.BufferSize, t.Rings, t.CPUs, t.Descriptors = s.bufferSize(), len(rings), len(s.cpus), max(s.free, 0)
	t.CPUErr = s.cpuErr
	return t, nil
}

// Overran reports whether records may have been lost since its last call: false means that Stats has no more losses. It reads the positions
// of the rings only, and so is much cheaper than Stats. In rings of up to 256 KiB and in those that are overwritten, records may always have
// been lost.
func (s *Session) Overran() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	overran := s.overran || s.o.Overwrite
	s.overran = false
	for _, r := range s.rings {
		overran = overran || r.ring.overran(r.ring.tail.Load())
	}
	return overran
}

// bufferSize returns the size of the rings, or of the largest if all have names.
func (s *Session) bufferSize() int {
	if size, ok := s.sizes[""]; ok {
		return size
	}
	if len(s.sizes) == 0 {
		return s.o.BufferSize
	}
	return slices.Max(slices.Collect(maps.Values(s.sizes)))
}

// Stats reads the counts of the event. They are final when the event is detached and completely read.
func (src *Source) Stats() (SourceStats, error) {
	s := src.session
	s.attach.Lock()
	defer s.attach.Unlock()
	live, err := src.readCounts()
	if err != nil {
		return SourceStats{}, fmt.Errorf("counts of event %s: %w", src, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookIntoRings()
	return src.stats(src.total(live), s.noLost), nil
}

// lostTasks reads how many records of tasks the kernel lost.
func (r *cpuRing) lostTasks() (uint64, error) {
	if r.tasks == nil {
		return 0, nil
	}
	counts, err := r.tasks.read()
	return counts.Lost, err
}

// readCounts reads the counts of the open descriptors of a source.
func (src *Source) readCounts() (total sys.PerfCounts, err error) {
	for _, d := range src.descriptors {
		counts, err := d.event.read()
		if err != nil {
			return total, err
		}
		total.Matched += counts.Matched
		total.Lost += counts.Lost
	}
	return total, nil
}

// total adds the counts of closed descriptors to those of open ones.
func (src *Source) total(live sys.PerfCounts) sys.PerfCounts {
	live.Matched += src.gone.Matched
	live.Lost += src.gone.Lost
	return live
}

func (src *Source) stats(c sys.PerfCounts, noLost bool) SourceStats {
	// While a filter is replaced, two descriptors record a hit: it counts once.
	t := SourceStats{
		Name: src.String(), CountOnly: src.o.CountOnly, Matched: c.Matched - src.duplicates, Lost: c.Lost,
		Read: src.read, Excluded: src.excluded, Overwritten: src.overwritten, AtLeast: noLost && !src.o.CountOnly && !src.final,
	}
	if src.o.CountOnly {
		return t
	}
	missing := t.Matched - min(t.Matched, t.Read+t.Overwritten)
	switch {
	case src.final:
		t.Lost = missing
	case src.session.o.Overwrite:
		t.Pending = missing - min(missing, t.Lost)
	default:
		t.Pending = src.pending + src.inRings
		if noLost {
			t.Lost = missing - min(missing, t.Pending)
		}
	}
	return t
}

// lookIntoRings counts the records in the rings, and leaves them there. A slow reader can have full rings.
func (s *Session) lookIntoRings() {
	for _, src := range s.sources {
		src.inRings = 0
	}
	if s.o.Overwrite {
		return // the kernel overwrites the records
	}
	for _, r := range s.rings {
		s.scratch = r.ring.eachNew(s.scratch, func(b raw) {
			if b.kind() != typeSample || !b.valid() {
				return
			}
			if d := s.descriptorOf(b); d != nil {
				d.source.inRings++
			}
		})
	}
}
