package reader

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/live"
)

// NoticeKind is the kind of a [Notice].
type NoticeKind uint8

// The kinds of notices.
const (
	// NoticeAttached: an event that appeared after Open is attached.
	NoticeAttached NoticeKind = iota + 1
	// NoticeFailed: an event is not attached. Err has the reason.
	NoticeFailed
	// NoticeNoWriter: the last process that was seen to write the event has exited. The event stays attached, and
	// meanwhile a program that registers other fields under its name gets EADDRINUSE.
	NoticeNoWriter
	// NoticeDetached: the event was detached after its last writer exited, because of Options.DetachAtExit, or because it was in
	// shared memory.
	NoticeDetached
	// NoticeLost: the kernel lost Count records of the event since the last notice of this kind, at least a second ago,
	// because the rings had no room.
	NoticeLost
	// NoticeTransport: the kernel's events are not read, but those in shared memory. Err has the reason.
	NoticeTransport
	// NoticeDisabled: programs that offer the event in shared memory had disabled it for at most Gap, because the Reader did not read
	// for more than 10 s (the process was stopped, or its output was not ready) and their rings were full. Records of that time are in
	// no count. The event is enabled again.
	NoticeDisabled
	// NoticeRefused: there are Count processes that the Reader has no permission to look into. They may offer events in shared memory.
	// Err says which capabilities are missing. It comes once, and not with Options.Processes, of which each has a NoticeFailed.
	NoticeRefused
	// NoticeExited: the process PID, which wrote records, has exited, executes another program, or has closed its events in shared
	// memory. Next has returned its records, but for late ones. The end of a process that uses the kernel is not noticed
	// if each event that it wrote is also written by more than 1,000 others, nor from another PID namespace.
	NoticeExited
	// NoticeLimited: there were more records of the event than Options.Limit, or of its program than ProgramLimit, and it was disabled Count times, for Gap in all, since the
	// last notice of this kind, at least a second ago. Records of that time are in no count.
	NoticeLimited
)

var noticeNames = [...]string{"unknown", "attached", "failed", "ended", "detached", "lost", "transport", "disabled", "refused", "exited", "limited"}

// String returns the name of the kind, such as "attached".
func (k NoticeKind) String() string {
	if int(k) >= len(noticeNames) {
		k = 0
	}
	return noticeNames[k]
}

// Notice reports a change of an attached event, or lost records.
type Notice struct {
	Kind  NoticeKind
	Time  time.Time
	Event string // SYSTEM:NAME; empty in NoticeLost and NoticeLimited where more than 1,000 events were detached in a second
	Err   error  // NoticeFailed, NoticeTransport, NoticeRefused: the reason; NoticeDetached: the error of detaching, or nil
	Count uint64 // NoticeLost: number of lost records; NoticeRefused: number of processes; NoticeLimited: of times
	PID   int32  // NoticeExited: the process; it may be that of a new one already
	// Gap is, in NoticeDisabled and NoticeLimited, how long the event was disabled; in NoticeAttached, how long it may have been registered before it
	// was attached. Records that its program
	// wrote meanwhile are missing. It is 0 if that is not known.
	Gap time.Duration
}

// maxNotices is how many notices wait for Next. Further ones are dropped: a program that creates very many events which
// cannot be attached makes all notices look the same.
const maxNotices = 4096

func (r *Reader) notify(n Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notifyLocked(n)
}

func (r *Reader) notifyLocked(n Notice) {
	if len(r.notices) >= maxNotices {
		return
	}
	n.Time = time.Now()
	r.notices = append(r.notices, n)
	r.noticed.Store(true)
}

func (r *Reader) deliverNotices() {
	r.mu.Lock()
	notices := r.notices
	r.notices = nil
	r.noticed.Store(false)
	r.mu.Unlock()
	if r.o.Notify == nil {
		return
	}
	for _, n := range notices {
		r.o.Notify(n)
	}
}

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
			r.notify(Notice{Kind: NoticeLost, Event: name, Count: n.lost})
		}
		if n := more[name]; n.paused > 0 {
			r.notify(Notice{Kind: NoticeLimited, Event: name, Count: n.pauses, Gap: n.paused})
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
	maps.DeleteFunc(r.events, func(e *event, _ bool) bool { return e.gone && (e.first == nil || e.first.Complete()) })
}

// State is the part of Stats that needs no system call, however many events are attached.
type State struct {
	Attached int // events of the kernel and of shared memory that are attached
	// NeverMatch is the number of events that Options.Events select and that are not attached: none of their records can meet
	// Options.Where, or be of Options.Kinds.
	NeverMatch int

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
	stats := Stats{
		State: r.State(), Total: eventStats(&total),
		Late: st.Late, LostTaskRecords: st.LostTaskRecords, Malformed: st.Malformed, CPUs: st.CPUs, BufferSize: st.BufferSize,
	}
	for i := range st.Sources {
		stats.Events = append(stats.Events, eventStats(&st.Sources[i]))
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
