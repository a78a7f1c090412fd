package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
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

// Open attaches to the selected events.
//
// The kernel's events need CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), or a kernel.perf_event_paranoid of -1, and read permission on tracefs. Events in shared memory
// need permission to read the program's memory: those of programs of other users are omitted without it. The error wraps
// [fs.ErrPermission] or [errors.ErrUnsupported] if no transport can be read.
//
// It wraps [fs.ErrInvalid] if Options.Events is empty or an option is invalid; [NoMatchError] if no event matches, and all patterns are of other systems
// or Options.NoFollow is set; EMFILE if the events need more descriptors than the process may have, or exceed Options.MaxEvents, before any is attached,
// unless Options.Partial is set. If only some events cannot be attached, Open succeeds, and Options.Notify gets their errors.
func Open(o *Options) (*Reader, error) {
	r, err := newReader(o, "/proc")
	if err == nil {
		err = r.open()
	}
	if err != nil {
		return nil, fmt.Errorf("reader: %w", err)
	}
	return r, nil
}

func (r *Reader) open() error {
	var refused error
	if r.o.Transport != TransportMemory {
		if r.kernel, refused = r.openKernel(); refused != nil && !r.optional(refused) {
			return refused
		}
	}
	if r.readsMemory() {
		var err error
		if r.memory, err = newMemory(r); err != nil && (r.kernel == nil || !errors.Is(err, errors.ErrUnsupported)) {
			return errors.Join(refused, err, r.closeKernel())
		}
	}
	r.join()
	return r.start(refused)
}

// join sets the source that Next reads.
func (r *Reader) join() {
	switch {
	case r.memory == nil:
		r.source = r.kernel
	case r.kernel == nil:
		r.source = r.memory
	default:
		r.source = newMerge(r.kernel, r.memory, r.o.Latency)
	}
}

func (r *Reader) closeKernel() error {
	if r.kernel == nil {
		return nil
	}
	return r.kernel.Close()
}

// openKernel returns a session that reads the kernel's events.
func (r *Reader) openKernel() (kernelSession, error) {
	var err error
	if r.dir == nil {
		if r.dir, err = tracefs.Find(); err != nil {
			return nil, err
		}
	}
	o := &perf.Options{
		BufferSize: r.o.BufferSize, Latency: r.o.Latency, Window: r.o.Window, Poll: r.o.Poll, Callchain: r.o.Callchain,
		CgroupID: r.o.CgroupID, Cgroup: r.o.Cgroup,
		Tasks: r.o.Read == ReadStream || r.o.Read == ReadSnapshot, Overwrite: r.o.Read == ReadSnapshot,
	}
	s, err := perf.Open(r.dir, o)
	if o.CgroupID && o.Tasks && errors.Is(err, errno.EINVAL) {
		o.CgroupID = false
		s, err = perf.Open(r.dir, o)
	}
	if err != nil {
		return nil, err
	}
	if o.CgroupID && o.Tasks {
		r.processes.follow(newCgroups())
	}
	s.SetProcesses(r.selected.Load().processes())
	return perfSession{s}, nil
}

// readsMemory reports whether the options select events that programs can offer in memory.
func (r *Reader) readsMemory() bool {
	return r.o.Transport != TransportKernel && r.selected.Load().userEvents()
}

// optional reports whether a Reader goes on without the kernel's events after an error.
func (r *Reader) optional(err error) bool {
	return r.o.Transport == TransportAny && r.readsMemory() && !r.selected.Load().others() &&
		(errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported))
}

// newReader returns a Reader without a session, and checks its options.
func newReader(o *Options, proc string) (*Reader, error) {
	r := &Reader{
		events: map[*event]bool{}, attached: map[string]*event{}, never: map[string]bool{}, processes: newProcesses(proc), noMainThread: map[int32]uint64{},
	}
	if o != nil {
		r.o = *o
	}
	if r.o.Tracefs != "" {
		r.dir = tracefs.At(r.o.Tracefs)
	}
	if r.o.Transport > TransportMemory {
		return nil, fmt.Errorf("the option Transport is %d: %w", r.o.Transport, fs.ErrInvalid)
	}
	selected, err := newSelections([]Selection{r.o.Selection}, r.o.Transport)
	if err != nil {
		return nil, err
	}
	r.selected.Store(&selected)
	if r.o.Cgroup != "" {
		if r.cgroup, err = cgroupPath(r.o.Cgroup); err != nil {
			return nil, fmt.Errorf("the option Cgroup: %w", err)
		}
	}
	if err := r.o.checkLimit(); err != nil {
		return nil, err
	}
	r.limits = r.o.limited()
	if min(r.o.MaxEvents, r.o.ProgramMemory, r.o.BufferSize) < 0 || min(r.o.Latency, r.o.Window, r.o.Poll) < 0 || r.o.BufferSize > perf.MaxBufferSize {
		return nil, fmt.Errorf("an option is negative or too large: MaxEvents %d, ProgramMemory %d, BufferSize %d (at most %d), Latency %v, Window %v, Poll %v: %w",
			r.o.MaxEvents, r.o.ProgramMemory, r.o.BufferSize, perf.MaxBufferSize, r.o.Latency, r.o.Window, r.o.Poll, fs.ErrInvalid)
	}
	r.o.Latency, r.o.Poll = cmp.Or(r.o.Latency, perf.DefaultLatency), cmp.Or(r.o.Poll, perf.DefaultPoll)
	for _, pid := range r.o.Processes {
		if _, err := os.Stat(filepath.Join(proc, strconv.Itoa(pid))); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no process %d: %w", pid, fs.ErrInvalid)
		}
	}
	return r, nil
}
