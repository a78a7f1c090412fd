package perf

import (
	"fmt"
	"time"

	"github.com/userevents/userevents-go/internal/live"
)

// State returns the state of the session, also after Close. It waits neither for the kernel nor for Attach and Detach.
func (s *Session) State() live.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live.State{Rings: len(s.rings), CPUErr: s.cpuErr}
}

// Stats reads the counts of all events. It makes a system call for each event and CPU, and does not keep ReadInto waiting
// for them. After Close it returns the last counts.
func (s *Session) Stats() (live.Stats, error) {
	s.attach.Lock()
	defer s.attach.Unlock()
	t := live.Stats{LostTaskRecords: s.lostTasks, CPUs: len(s.cpus), Descriptors: max(s.free, 0), BufferSize: s.bufferSize()}
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
func (src *Source) stats() live.Counts {
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

func (d *descriptor) stats() live.Counts {
	return live.Counts{Matched: d.counts.Matched, Lost: d.counts.Lost, Read: d.read, Excluded: d.excluded, Overwritten: d.overwritten}
}
