package reader

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/live"
)

// CheckNotices calls Options.Notify as Next does, also for losses since the last check, about once a second. Call it
// every now and then while records are left unread, for example because their destination is not ready: the kernel then
// loses records. It must not run at the same time as Next. Exits of processes are noticed only by Next.
func (r *Reader) CheckNotices() {
	r.look(time.Now())
	r.deliverNotices()
}

// look looks for losses, and for processes that have ended unnoticed, when it is time to, and reports whether it was.
func (r *Reader) look(now time.Time) bool {
	r.mu.Lock()
	due := !now.Before(r.tickAt)
	if due {
		r.tickAt = now.Add(tickInterval)
		r.setDeadline()
		r.divideMore()
	}
	r.mu.Unlock()
	if due {
		if r.source.Overran() || r.hasGone() { // else there is nothing to read, for each event and processor
			r.lookAtLosses()
		}
		r.lookAtLeaderless()
	}
	return due
}

// hasGone reports whether there are events that are detached.
func (r *Reader) hasGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := range r.events {
		if e.gone {
			return true
		}
	}
	return false
}

// missing is what is known about records that are not read.
type missing struct {
	lost   uint64
	pauses uint64 // because of Options.Limit and ProgramLimit
	paused time.Duration
}

func missingOf(s *live.Counts) missing { return missing{s.Lost, s.Pauses, s.Paused} }

func (m missing) add(n missing) missing {
	return missing{m.lost + n.lost, m.pauses + n.pauses, m.paused + n.paused}
}

// since returns what was added to what was known before. It is less than that where a source was forgotten.
func (m missing) since(before missing) missing {
	return missing{m.lost - min(m.lost, before.lost), m.pauses - min(m.pauses, before.pauses), m.paused - min(m.paused, before.paused)}
}

type losses struct {
	of    map[string]missing // by event
	total missing
}

// since returns how many records of each event were lost since the last call, and for how long it was disabled. The losses of events that
// are in total alone have an empty name.
func (l *losses) since(sources iter.Seq[live.Counts], total live.Counts) map[string]missing {
	now, more := map[string]missing{}, map[string]missing{}
	for s := range sources {
		now[s.Name] = now[s.Name].add(missingOf(&s))
	}
	for name, n := range now {
		if n = n.since(l.of[name]); n != (missing{}) {
			more[name] = n
			l.total = l.total.add(n)
		}
	}
	l.of = now
	if rest := missingOf(&total).since(l.total); rest != (missing{}) {
		more[""] = rest
		l.total = l.total.add(rest)
	}
	return more
}

// lookAtLosses notes what each event lacks since the last look.
func (r *Reader) lookAtLosses() {
	st, err := r.source.Stats()
	if err != nil {
		return // the session is closed; ReadInto reports that
	}
	if r.drained {
		r.final.Store(&st)
	}
	more := r.lost.since(slices.Values(st.Sources), st.Total())
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if n := more[name]; n.lost > 0 {
			r.notices.add(Notice{Kind: NoticeLost, Event: name, Count: n.lost})
		}
		if n := more[name]; n.paused > 0 {
			r.notices.add(Notice{Kind: NoticeLimited, Event: name, Count: n.pauses, Gap: n.paused})
		}
	}
	r.forgetGone()
	if st.LostTaskRecords > r.lostTasks {
		r.lostTasks = st.LostTaskRecords
		r.lookForWriters()
	}
}

// forgetGone forgets the events that are detached and completely read.
func (r *Reader) forgetGone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.events, func(e *event, _ bool) bool {
		return e.gone && (e.first == nil || e.first.Complete() && (e.rest == nil || e.rest.Complete()))
	})
}

// State is the part of Stats that needs no system call, however many events are attached.
type State struct {
	Attached int // events of the kernel and of shared memory that are attached
	// NeverMatch is the number of events that Selection.Events have and that are not attached: none of their records can meet Where, or
	// be of Kinds.
	NeverMatch int

	// Each record that was read and not excluded is in one of Selected, Unselected and Copies, but for two at most: of the kernel and of
	// shared memory, the next one each waits for the other.
	Selected    uint64 // records that Next, Events or Snapshot returned, or that NextUndecoded did and are selected
	Unselected  uint64 // records that the selection does not have, as the Reader found
	Copies      uint64 // log records of a level's event that were read from the event of their declaration before
	Undecodable uint64 // the part of these that does not fit the format of its event

	Rings int // one for each CPU, and a second one if events of errors are attached
	// CPUErr is the error of the last CPU that came online, if its records are not read; else nil.
	CPUErr error
}

// State returns the state of the Reader. It waits neither for the kernel nor for Next, nor while events are attached and detached.
func (r *Reader) State() State {
	st := r.source.State()
	r.mu.Lock()
	defer r.mu.Unlock()
	attached := len(r.attached)
	if r.memory != nil {
		attached += r.memory.Events()
	}
	return State{
		Attached: attached, NeverMatch: len(r.never),
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
	Matched  uint64 // records that met Options.Cgroup, and what the kernel evaluates of Selection.Where
	Read     uint64 // records taken out of the rings
	Excluded uint64 // the part of Read that Selection.Processes excludes
	Lost     uint64 // records that the kernel did not write, because a ring was full, or that were unread at Close
	Pending  uint64 // records in the rings
	// Overwritten counts records that newer ones replaced before the last Snapshot. Later ones are in Pending.
	Overwritten uint64
	// AtLeast marks Matched and Lost as incomplete: there was a NoticeDisabled, or before Linux 6.0 the kernel does not count the lost records of each event, which are
	// in Pending until the event is detached, or Stop is called, and the rest is read.
	AtLeast bool
	// Limited is for how long Options.Limit or ProgramLimit had disabled the event, and LimitedTimes how often. Records of that time are in no count. The
	// times of programs in shared memory, each of which has the limit, add up; each is at most so long.
	Limited      time.Duration
	LimitedTimes uint64
}

// Stats reads the counts of all events. It makes a system call for each event and CPU. After Next has returned [io.EOF] it returns
// the counts of that moment, which the notices of losses add up to, also after Close: a loss of a program that was still writing
// is not counted. After Close without io.EOF it returns the last counts.
func (r *Reader) Stats() (Stats, error) {
	st, err := r.counts()
	total := st.Total()
	var names []string // in the order of attaching
	stats := Stats{
		State: r.State(), Total: eventStats(&total),
		Late: st.Late, LostTaskRecords: st.LostTaskRecords, Malformed: st.Malformed, CPUs: st.CPUs, BufferSize: st.BufferSize,
	}
	sums := map[string]*live.Counts{} // an event can have several
	for _, c := range st.Sources {
		if sum := sums[c.Name]; sum != nil {
			sum.Add(c)
			continue
		}
		sums[c.Name] = &c
		names = append(names, c.Name)
	}
	for _, name := range names {
		stats.Events = append(stats.Events, eventStats(sums[name]))
	}
	return stats, err
}

// counts returns the counts of the session. After the last notices it returns theirs: a program that was writing when its event was
// disabled may count a loss later.
func (r *Reader) counts() (live.Stats, error) {
	if final := r.final.Load(); final != nil {
		return *final, nil
	}
	return r.source.Stats()
}

func eventStats(s *live.Counts) EventStats {
	return EventStats{
		Name: s.Name, Matched: s.Matched, Read: s.Read, Excluded: s.Excluded, Lost: s.Lost, Pending: s.Pending,
		Overwritten: s.Overwritten, AtLeast: s.AtLeast, Limited: s.Paused, LimitedTimes: s.Pauses,
	}
}
