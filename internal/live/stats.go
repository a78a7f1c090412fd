package live

import "time"

// Counts are the numbers of records of an event. Each hit of the event is in exactly one count:
//
//	Matched == Read + Lost + Pending + Overwritten
//
// While a program writes the event, the counts are of slightly different moments. For a summary, stop the session and
// read the rest first: then nothing is pending. A hit of the moment at which the event was disabled, which the kernel may
// count without recording it, is in Matched and Pending until then.
type Counts struct {
	Name     string // SYSTEM:NAME
	Matched  uint64 // hits of the event that matched its filter
	Read     uint64 // records taken out of the rings: returned, or excluded
	Excluded uint64 // the part of Read that were excluded by their process
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
	// Pauses counts how often the event was disabled because of a limit, and Paused is for how long: records of that time are in no
	// other count.
	Pauses uint64
	Paused time.Duration
}

// Add adds the counts of another source.
func (t *Counts) Add(u Counts) {
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
	Rings int // of the kernel: one for each CPU and name of rings
	// CPUErr is the error of the last CPU that came online, if it lacks rings or events; else nil.
	CPUErr error
}

// Stats counts what a session recorded.
type Stats struct {
	State

	// Sources are attached or incompletely read events, in the order of Attach. Detached ones with losses or pauses stay until
	// Overran was called once after they were read, Stats after it, and Overran again; at most 1,000.
	Sources  []Counts
	Detached Counts // sum of all others that recorded
	// LostTaskRecords counts the lost records of the kinds Comm, Exec, Fork, Exit and Cgroup.
	LostTaskRecords uint64
	Late            uint64 // records delivered after newer ones, because they came too late, or with a later Snapshot
	Malformed       uint64 // invalid records; not 0 only if there is a bug
	// BufferSize is the size of each ring in bytes, less than Options.BufferSize if there was not so much memory. Rings with a
	// name may be smaller.
	BufferSize int
	CPUs       int // number of online CPUs
	// Descriptors is how many more descriptors the session may open: each event needs one for each CPU, and so does
	// each name of rings.
	Descriptors int
}

// Total returns the sum of all sources that record, including detached ones. Its Name is empty.
func (t *Stats) Total() Counts {
	total := t.Detached
	for _, u := range t.Sources {
		if !u.CountOnly {
			total.Add(u)
		}
	}
	return total
}
