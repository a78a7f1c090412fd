package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/perf"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Options are the choices of a Reader. The zero value has the default of each.
type Options struct {
	// Events are patterns of names; nil means all user events. A Reader attaches to the user events that match any, and
	// to those that appear later.
	//
	//	myapp                 the event myapp and all whose names begin with myapp_
	//	myapp_*               with *, ? and [a-z] as in package path
	//	user_events:myapp     this event alone
	//	sched:sched_switch    an event of another system of the kernel, or several: sched:*. They must be there.
	//
	// Events of several formats (user_events_multi) match by the name that they were registered with.
	Events []string
	// Excludes are patterns of events that are not attached, even if they match Events.
	Excludes []string
	// Level is the least severity of log records; 0 means all. An event whose name says that all its records are below
	// is not attached. Records without a severity, such as spans, have every level.
	Level Severity
	// Processes are the ids of the processes whose records are read; nil means all. Others are recorded too, and
	// then excluded.
	Processes []int
	// Comms are names of processes, such as Process.Comm has, as patterns of package path; nil means all. Others are
	// recorded and excluded.
	Comms []string
	// Cgroup is the directory of a cgroup, such as /sys/fs/cgroup/system.slice. Only processes in it and below it are
	// recorded.
	Cgroup string
	// Filter is a condition on fields in the kernel's syntax, such as status >= 500 && route ~ "/users/*". Events that do
	// not have the fields cannot be attached, which is reported.
	Filter string
	// NoFollow leaves out events that appear after Open.
	NoFollow bool
	// DetachAtExit detaches from an event when the last process that was seen to write it has exited, so that a new
	// version of the program can register it with other fields. If other processes still have it registered, the event is
	// attached again after a moment; what they write meanwhile is not recorded.
	DetachAtExit bool
	// CountOnly counts records without reading them, which costs the programs less. Next then returns no events.
	CountOnly bool
	// Callchain adds the user's stack to events.
	Callchain bool
	// CgroupID adds the id of the writer's cgroup to events. The kernel needs CONFIG_CGROUP_PERF.
	CgroupID bool
	// MaxEvents is how many events may be attached at the same time; 0 means as many as the limit of descriptors allows.
	MaxEvents int
	// BufferSize and Latency are those of [perf.Options].
	BufferSize int
	Latency    time.Duration
	// Overwrite keeps the latest records in the rings, for Snapshot.
	Overwrite bool
	// Immediate makes Next return each record at once. It is for events that are rare, or that Filter makes rare: each
	// record costs the program that writes it a wakeup. What processes that have exited were called is then not known.
	Immediate bool
	// Undecoded leaves events undecoded, for those who keep records as they are: they have what the kernel says, the names of
	// the tracepoint, Process and Raw. Nothing else is known of them then: records of lower levels in events that have
	// several, and the copies of declared log records, are returned, too.
	Undecoded bool
	// Notify is told what happens besides records; nil means that nobody is. It is called by Next, between two events.
	Notify func(Notice)
}

// session is what a Reader needs of a perf.Session. Tests have one of their own.
type session interface {
	Attach(name string, o *perf.AttachOptions) (*perf.Source, error)
	Follow(match func(*tracefs.Event) *perf.AttachOptions, report func(*tracefs.Event, *perf.Source, error)) error
	ReadInto(r *perf.Record) error
	Snapshot(f func(*perf.Record) error) error
	SetDeadline(t time.Time)
	Stats() (perf.Stats, error)
	Stop() error
	Close() error
	detach(src *perf.Source) error
	event(src *perf.Source) *tracefs.Event
}

type perfSession struct{ *perf.Session }

func (perfSession) detach(src *perf.Source) error         { return src.Detach() }
func (perfSession) event(src *perf.Source) *tracefs.Event { return src.Event() }

// Open attaches to the events that the options select, on all CPUs. dir is the tracefs with their names.
//
// It needs CAP_PERFMON, or a kernel.perf_event_paranoid of -1, and the right to read tracefs: errors wrap
// [fs.ErrPermission] otherwise. They wrap EINVAL if an option is not understood, or the kernel refuses the filter for all
// events; [fs.ErrNotExist] if an event of another system does not exist; EMFILE if the events need more descriptors
// than the process may have, or are more than Options.MaxEvents, before any is attached. If some events cannot be
// attached, Open succeeds, and Options.Notify gets their errors. There need not be any event yet unless
// Options.NoFollow is set.
//
// On systems other than Linux the error wraps [errors.ErrUnsupported].
func Open(dir *tracefs.Dir, o *Options) (*Reader, error) {
	r, err := newReader(dir, o, "/proc")
	if err != nil {
		return nil, fmt.Errorf("reader: %w", err)
	}
	session := &perf.Options{
		BufferSize: r.o.BufferSize, Latency: r.o.Latency, Tasks: !r.o.CountOnly && !r.o.Immediate, Callchain: r.o.Callchain,
		CgroupID: r.o.CgroupID, Cgroup: r.o.Cgroup, Processes: r.o.Processes, Overwrite: r.o.Overwrite,
	}
	if r.o.Immediate {
		// No timer wakes the reader, and no record waits for older ones.
		session.Immediate, session.Latency, session.Window = true, time.Hour, 1
	}
	s, err := perf.Open(dir, session)
	if err == nil {
		r.session = perfSession{s}
		err = r.start()
	}
	if err != nil {
		return nil, fmt.Errorf("reader: %w", err)
	}
	return r, nil
}

// newReader checks the options. The Reader has no session yet.
func newReader(dir *tracefs.Dir, o *Options, proc string) (*Reader, error) {
	r := &Reader{
		dir: dir, sources: map[*perf.Source]*source{}, attached: map[string]bool{}, processes: newProcesses(proc),
		done: make(chan struct{}),
	}
	if o != nil {
		r.o = *o
	}
	if dir == nil {
		return nil, fmt.Errorf("no tracefs.Dir: %w", errno.EINVAL)
	}
	var err error
	if r.selection, err = newSelection(&r.o); err != nil {
		return nil, err
	}
	for _, c := range r.o.Comms {
		if _, err := path.Match(c, ""); err != nil {
			return nil, fmt.Errorf("pattern %q of names of processes: %w: %w", c, err, errno.EINVAL)
		}
	}
	if r.o.MaxEvents < 0 {
		return nil, fmt.Errorf("the option MaxEvents is negative: %w", errno.EINVAL)
	}
	for _, pid := range r.o.Processes {
		if _, err := os.Stat(filepath.Join(proc, strconv.Itoa(pid))); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no process %d: %w", pid, errno.ESRCH)
		}
	}
	return r, nil
}
