package perf

import (
	"fmt"

	"github.com/userevents/userevents-go/internal/sys"
)

// SourceStats counts records of an event. Every hit of the event is in one place:
//
//	Matched == Read + Lost + Pending + Overwritten
//
// The equation is exact while no program writes the event. While one does, the counts are of slightly different
// moments: call Session.Stop and read the rest first for those of a summary. A record that is being written
// when its event is disabled can be in Matched alone, until the rest is read.
type SourceStats struct {
	Name     string // SYSTEM:NAME
	Matched  uint64 // how often the event was written and its filter held
	Read     uint64 // taken out of the rings: returned by ReadInto or Snapshot, or excluded
	Excluded uint64 // the part of Read that other processes than Options.Processes wrote
	// Lost are records that the kernel did not write, for lack of room in a ring or because a Snapshot was
	// copying it, and those that were not read before Close.
	Lost    uint64
	Pending uint64 // recorded and not read yet
	// Overwritten are records that newer ones replaced before the last Snapshot. Pending has those after it.
	Overwritten uint64
	CountOnly   bool // Matched is the only count
	// AtLeast says that Lost is the difference of the other counts, which is too low while programs write: before
	// Linux 6.0 the kernel does not count the lost records of each event.
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
	Sources  []SourceStats // of events that are attached, or detached and not all read yet, in the order of Attach
	Detached SourceStats   // of all others together
	// TaskRecords are records of the kinds Comm, Fork and Exit that were read, and LostTaskRecords those that
	// were lost.
	TaskRecords, LostTaskRecords uint64
	Late                         uint64 // records that were delivered after newer ones, because they came later than Options.Window
	Malformed                    uint64 // records that no kernel writes; 0 unless there is a bug
	BufferSize                   int    // bytes of each ring; less than Options.BufferSize where the kernel refused that
	Rings                        int    // one for each CPU and name of AttachOptions.Ring
	CPUs                         int    // that are online
	// Descriptors is how many more the session may open: each event needs one for each CPU, and so does each name of
	// AttachOptions.Ring.
	Descriptors int
	// CPUErr is why a CPU that came online has not all rings and events; nil if none.
	CPUErr error
}

// Total returns the counts of all sources that record, detached ones included. Its Name is empty.
func (t *Stats) Total() SourceStats {
	total := t.Detached
	for _, u := range t.Sources {
		if !u.CountOnly {
			total.add(u)
		}
	}
	return total
}

// Stats reads the counts of all events. It takes a system call for each event and CPU. After Close it returns
// the last ones.
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
	t.BufferSize, t.Rings, t.CPUs, t.Descriptors = s.bufSize, len(rings), len(s.cpus), max(s.free, 0)
	t.CPUErr = s.cpuErr
	return t, nil
}

// Stats reads the counts of the event. After Detach, when all was read, they are final.
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

// lostTasks reads how many records of tasks did not fit the ring.
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

// lookIntoRings counts the records in the rings, and leaves them there. A reader that is slow can have whole
// rings of them.
func (s *Session) lookIntoRings() {
	for _, src := range s.sources {
		src.inRings = 0
	}
	if s.o.Overwrite {
		return // the kernel writes into what would be counted
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
