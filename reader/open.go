package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Open attaches to the selected events.
//
// The kernel's events need CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), or a kernel.perf_event_paranoid of -1, and read permission on tracefs. Events in shared memory
// need permission to read the program's memory: those of programs of other users are omitted without it. The error wraps
// [fs.ErrPermission] or [errors.ErrUnsupported] if no transport can be read.
//
// It wraps [fs.ErrInvalid] if Selection.Events is empty or an option is invalid; [NoMatchError] if no event matches, and all patterns are of other systems
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
	r.lookAtTexts()
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
	return perfSession{s}, nil
}

// lookAtTexts notes what filters the kernel has: before Linux 6.4, those of numbers only.
func (r *Reader) lookAtTexts() {
	if status, err := r.dir.Status(); err == nil { // else there are no user events
		r.noTexts = status.Max > 0
	}
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
		events: map[*event]bool{}, attached: map[string]*event{}, leaving: map[string]bool{}, never: map[string]bool{}, processes: newProcesses(proc), noMainThread: map[int32]uint64{},
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
	selected, err := r.newSelections([]Selection{r.o.Selection})
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
	return r, nil
}
