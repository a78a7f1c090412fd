package reader

import (
	"fmt"
	"io/fs"
	"math"
	"time"
)

// Options are the choices of a Reader. Selection.Events is required; the zero value of each other field is its default.
type Options struct {
	// Selection says which records are read, until [Reader.Select] replaces it.
	Selection

	// Cgroup is the directory of a cgroup, such as /sys/fs/cgroup/system.slice. The kernel records only the processes
	// in and below it. Open fails if it does not exist.
	Cgroup string
	// NoFollow ignores events that appear after Open.
	NoFollow bool
	// DetachAtExit detaches from an event when the last process that was seen to write it has exited, so that a new
	// version of the program can register it with other fields. If other processes still have it registered, the Reader
	// attaches again at the third Poll, unless NoFollow is set; records written meanwhile are missed. The end of processes in
	// another PID namespace is not noticed.
	DetachAtExit bool
	// Callchain adds the user's stack to events; of those in shared memory, the return addresses of up to 64 functions.
	Callchain bool
	// CgroupID adds the id of the writer's cgroup to the kernel's events, and Event.Process has the cgroup of the moment of the record, also of
	// processes that have ended before it was read. Without CONFIG_CGROUP_PERF the ids are 0.
	CgroupID bool
	// MaxEvents limits how many events of the kernel are attached at the same time, since each takes descriptors and time to
	// detach, and how many in the shared memory of each program; 0 means as many as the limit of descriptors allows.
	MaxEvents int
	// Partial attaches to as many events of the kernel as MaxEvents and seven eighths of the descriptors allow, and reports the others as
	// NoticeFailed, where Open otherwise fails. They are attached later, when others are detached.
	Partial bool
	// Tracefs is the directory where tracefs is mounted, which lists the kernel's events. The default is the first mount of
	// /proc/self/mounts.
	Tracefs string
	// BufferSize is the size of each ring in bytes, at most 1 GiB, rounded up to a power of two of whole pages; 0 means 512 KiB.
	// The kernel has a ring for each CPU, and one for each CPU for events of errors, so that a flood of other records does not overwrite them:
	// events whose names end in _error, and EventHeader events of the levels error and critical. If the kernel refuses so much
	// memory, or the rings would take more than half of the available memory of the machine, they are smaller: Stats.BufferSize.
	BufferSize int
	// Latency is the longest time that a record stays in a ring that is less than a quarter full; 0 means 100 ms. Window is the
	// time that a record is held back so that older records of other CPUs come first; 0 means 10 ms. Poll is the interval between
	// checks for new events and programs; 0 means 250 ms. Each interval costs a wakeup of a Reader that waits.
	Latency, Window, Poll time.Duration
	// ProgramMemory limits the rings in the memory of all programs together, in bytes; 0 means any number. While little is left of it, further
	// programs have smaller rings than BufferSize. Those for which nothing is left are reported as NoticeFailed, and read when others have ended.
	ProgramMemory int
	// Limit is how many records of each event are read in a second of CLOCK_MONOTONIC; 0 means all. It is for the sake of the programs:
	// the event is disabled for the rest of the second, so that they make no more records. Each program in shared memory keeps to the
	// limit itself. Those of the kernel share it, and write until the Reader has seen as many and has detached, which may take Latency and
	// longer; those that Processes excludes do not count. Records above the limit are in no count; [EventStats].Limited is for how long they are missing. Events of other systems
	// than user_events have no limit. It needs ReadStream.
	Limit int
	// ProgramLimit limits the records of each process. The smaller of it and Limit applies.
	ProgramLimit ProgramLimit
	// Transport is the way of the events. TransportAny is the default.
	Transport Transport
	// Read is the way in which records are read.
	Read ReadMode
	// Reuse makes records share memory: see [record.Decoder.DecodeReuse].
	Reuse bool
	// Notify receives notices about events and losses; nil drops them. Next, Events and Snapshot call it between two events.
	Notify func(Notice)
}

// ProgramLimit is the number of records that a process may write in a second of CLOCK_MONOTONIC, in all of its user events together.
// Above it, each event with more than an equal part of the limit is disabled for the rest of the second; a rare event of errors stays
// enabled. Records above the limit are not counted: [EventStats].Limited is the time for which the event was disabled. From then on
// a disabled event of the kernel shares rings with other such events, if there is memory for them, so that it no longer overwrites the
// records of others. It needs ReadStream.
type ProgramLimit struct {
	Records int // 0 means no limit
	Bytes   int // of payload; 0 means no limit
}

// ReadMode is the way in which a Reader reads records.
type ReadMode uint8

// The ways of reading.
const (
	// ReadStream reads all records, many at a time.
	ReadStream ReadMode = iota
	// ReadSnapshot keeps only the latest records in the rings, for [Reader.Snapshot].
	ReadSnapshot
	// ReadCounts counts records for [Reader.Stats] without reading them, which lowers the overhead of the programs. Next
	// returns no events.
	ReadCounts
)

// Transport is a way for events to get from programs to a Reader.
type Transport uint8

// The transports.
const (
	// TransportAny is both of the others. Open succeeds if one of them can be read; if the kernel refuses, Options.Notify gets the
	// reason.
	TransportAny Transport = iota
	// TransportKernel is the kernel's tracepoints.
	TransportKernel
	// TransportMemory is shared memory of programs that may not register events with the kernel. It has user events only.
	TransportMemory
)

func (o *Options) checkLimit() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"Limit", o.Limit}, {"ProgramLimit.Records", o.ProgramLimit.Records}, {"ProgramLimit.Bytes", o.ProgramLimit.Bytes}} {
		switch {
		case n.value < 0 || int64(n.value) > math.MaxUint32:
			return fmt.Errorf("the option %s is %d, and must be from 0 to %d: %w", n.name, n.value, uint32(math.MaxUint32), fs.ErrInvalid)
		case n.value > 0 && o.Read != ReadStream:
			return fmt.Errorf("the option %s needs ReadStream: %w", n.name, fs.ErrInvalid)
		}
	}
	return nil
}

// limited reports whether events are disabled for a while.
func (o *Options) limited() bool { return o.Limit > 0 || o.ProgramLimit != (ProgramLimit{}) }

// programLimit returns how many records of an event a program in shared memory writes in a second, 0 for all. It may write as many before
// the Reader has looked.
func (o *Options) programLimit() int {
	if o.Limit == 0 || o.ProgramLimit.Records == 0 {
		return max(o.Limit, o.ProgramLimit.Records)
	}
	return min(o.Limit, o.ProgramLimit.Records)
}
