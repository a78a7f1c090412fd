package reader

import (
	"time"

	"github.com/userevents/userevents-go/internal/perf"
)

// State is the part of Stats that needs no system call, however many events are attached.
type State struct {
	Attached int // events of the kernel and of shared memory that are attached
	Never    int // events that Options.Events select, and that are not attached since none of their records can meet Options.Where or are of Options.Kinds

	// Each record that was read and not excluded is in one of Selected, Unselected and Copies.
	Selected    uint64 // records that Next, Events or Snapshot returned
	Unselected  uint64 // records that do not meet Options.Where, as the Reader found
	Copies      uint64 // log records of a level's event that were read from the event of their declaration before
	Undecodable uint64 // the part of these that does not fit the format of its event

	Rings int // one for each CPU, and a second one if events of errors are attached
	// CPUErr is the error of the last CPU that came online, if its records are not read; else nil.
	CPUErr error
}

// State returns the state of the Reader. It waits neither for the kernel nor for Next, nor while events are attached and detached.
func (r *Reader) State() State {
	st := r.session.State()
	r.mu.Lock()
	defer r.mu.Unlock()
	attached := len(r.attached)
	for name := range r.attachedAdded {
		if !r.attached[name] {
			attached++
		}
	}
	if m, ok := r.session.(memoryReader); ok {
		attached += m.events()
	}
	return State{
		Attached: attached, Never: len(r.never),
		Selected: r.taken.Load(), Unselected: r.unselected.Load(), Copies: r.copies.Load(), Undecodable: r.undecodable.Load(),
		Rings: st.Rings, CPUErr: st.CPUErr,
	}
}

// Stats counts the records of a Reader.
type Stats struct {
	State

	// Events are the counts of each event that is attached or not read to its end, in the order of attaching.
	Events []EventStats
	// Total is the sum of Events and of all events detached before. It has no Name, and is zero with [ReadCounts].
	Total EventStats

	// Late counts records that were returned after newer ones, because they came later than Options.Window, or with a later Snapshot.
	Late uint64
	// LostTaskRecords counts lost records about the start, name and exit of processes: Event.Process may be wrong since.
	LostTaskRecords uint64
	// Malformed counts invalid records in the rings. It is not 0 only if there is a bug.
	Malformed uint64

	CPUs int // number of online CPUs
	// BufferSize is the size of each ring in bytes, less than Options.BufferSize if there was not so much memory. Those of
	// errors may be smaller.
	BufferSize int
}

// EventStats counts the records of an event. Each that matched is in one of the other counts:
//
//	Matched == Read + Lost + Pending + Overwritten
//
// While a program writes the event, the counts are of slightly different moments. With [ReadCounts], Matched is the only count.
type EventStats struct {
	Name     string // SYSTEM:NAME
	Matched  uint64 // records that met Options.Cgroup, and what the kernel evaluates of Options.Where
	Read     uint64 // records taken out of the rings
	Excluded uint64 // the part of Read that Options.Processes excludes
	Lost     uint64 // records that the kernel did not write, because a ring was full, or that were unread at Close
	Pending  uint64 // records in the rings
	// Overwritten counts records that newer ones replaced before the last Snapshot. Later ones are in Pending.
	Overwritten uint64
	// AtLeast marks Matched and Lost as incomplete: there was a NoticeDisabled, or before Linux 6.0 the kernel does not count the lost records of each event, which are
	// in Pending until the event is detached, or Stop is called, and the rest is read.
	AtLeast bool
	// Limited is for how long Options.Limit or Share had disabled the event, and LimitedTimes how often. Records of that time are in no count. The
	// times of programs in shared memory, each of which has the limit, add up; each is at most so long.
	Limited      time.Duration
	LimitedTimes uint64
}

// Stats reads the counts of all events. It makes a system call for each event and CPU. After Close it returns the last
// counts.
func (r *Reader) Stats() (Stats, error) {
	st, err := r.session.Stats()
	total := st.Total()
	stats := Stats{
		State: r.State(), Total: eventStats(&total),
		Late: st.Late, LostTaskRecords: st.LostTaskRecords, Malformed: st.Malformed, CPUs: st.CPUs, BufferSize: st.BufferSize,
	}
	for i := range st.Sources {
		stats.Events = append(stats.Events, eventStats(&st.Sources[i]))
	}
	return stats, err
}

func eventStats(s *perf.SourceStats) EventStats {
	return EventStats{
		Name: s.Name, Matched: s.Matched, Read: s.Read, Excluded: s.Excluded, Lost: s.Lost, Pending: s.Pending,
		Overwritten: s.Overwritten, AtLeast: s.AtLeast, Limited: s.Paused, LimitedTimes: s.Pauses,
	}
}
