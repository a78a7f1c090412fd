package perf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perfaccess"
)

// Options configure a session. The zero value means the default of each.
type Options struct {
	// BufferSize is the size of each ring in bytes, rounded up to a power of two of whole pages; 0 means 512 KiB. There
	// is one ring for each CPU and each name in AttachOptions.Ring and PausedRing. If the kernel refuses so much memory (see Open),
	// or the rings would take more than half of the available memory of /proc/meminfo, they are smaller; Stats reports their
	// size.
	BufferSize int
	// Latency is the longest time that a record stays in a ring that is less than a quarter full; 0 means 100 ms. Below
	// a quarter the kernel does not wake the reader, so most records cost the traced program no wakeup.
	Latency time.Duration
	// Window is the time that a record is held back so that older records of other CPUs come first; 0 means 10 ms.
	// Later records are delivered out of order, and counted in Stats.Late.
	Window time.Duration
	// Poll is the interval at which Follow checks for new events, and the session for CPUs that went offline or came
	// online; 0 means 250 ms.
	Poll time.Duration
	// Overwrite makes new records replace old ones, without waking a reader. Snapshot reads them; ReadInto returns an
	// error. Rings have at least 64 KiB, of which Snapshot skips the oldest 16 KiB: a writer may be active there.
	Overwrite bool
	// Tasks delivers records of the kinds Comm, Exec, Fork and Exit besides the samples, for all threads of the machine or of
	// Cgroup; with CgroupID also those of the kind Cgroup.
	Tasks bool
	// Callchain adds the return addresses of the user's stack to samples, which costs the traced program more.
	Callchain bool
	// CgroupID adds the id of the writer's cgroup to samples. The kernel needs CONFIG_CGROUP_PERF: without it Attach returns an error
	// that wraps EINVAL, and with Tasks so does Open.
	CgroupID bool
	// Cgroup is the directory of a cgroup, such as /sys/fs/cgroup/system.slice. The kernel then records only processes
	// in and below it.
	Cgroup string
}

const (
	defaultBufferSize = 512 << 10
	defaultWindow     = 10 * time.Millisecond
)

// Defaults that apply to records of shared memory, too.
const (
	DefaultLatency = 100 * time.Millisecond
	DefaultPoll    = 250 * time.Millisecond
)

// MaxBufferSize is the largest Options.BufferSize.
const MaxBufferSize = 1 << 30

// withDefaults returns the options with defaults in place of zeros. Their numbers are within the limits that package reader checks.
func (o *Options) withDefaults() (c Options) {
	if o != nil {
		c = *o
	}
	c.BufferSize = cmp.Or(c.BufferSize, defaultBufferSize)
	c.Latency, c.Window, c.Poll = cmp.Or(c.Latency, DefaultLatency), cmp.Or(c.Window, defaultWindow), cmp.Or(c.Poll, DefaultPoll)
	size := os.Getpagesize()
	for size < c.BufferSize || c.Overwrite && size < minOverwrite {
		size *= 2
	}
	c.BufferSize = size
	return c
}

// AttachOptions configure one event. The zero value means the default of each.
type AttachOptions struct {
	// Filter is a condition in the kernel's syntax, such as status >= 500 && route ~ "/users/*"
	// (Documentation/trace/events.rst). Empty means no filter. common_pid in a filter is the id of a thread: see
	// Processes.
	Filter string
	// Ring is the name of the rings that the event writes to. Events that share rings, by default all of the session,
	// compete for their room: give important events rings of their own. Where there is not the memory for rings of an eighth
	// of Options.BufferSize, or not a descriptor for each, the event shares those of the session.
	Ring string
	// PausedRing is the name of the rings that the event writes to, in place of those of Ring, once Source.Pause was called: one that is
	// paused since it has too many records takes the room of others no more. Empty means the same rings.
	PausedRing string
	// CountOnly counts the event without recording it.
	CountOnly bool
	// Processes are the ids of the processes whose samples are delivered; nil means all. The kernel records other processes
	// too; their samples count as read and excluded.
	Processes map[int32]bool
	// Tag is the Tag of the event's records; nil means the Source.
	Tag any
	// Later makes Follow not attach to the event now, and ask again at the next poll. Attach ignores it.
	Later bool
}

// checkFilter rejects a filter that the kernel would parse as several, or as none.
func checkFilter(filter string) error {
	if strings.ContainsAny(filter, "\n\x00") || filter != "" && strings.TrimSpace(filter) == "" {
		return fmt.Errorf("filter %q is not one line of text: %w", filter, errno.EINVAL)
	}
	return nil
}

var (
	errClosed  = fmt.Errorf("perf session: %w", os.ErrClosed)
	errStopped = fmt.Errorf("the session was stopped: %w", os.ErrClosed)
)

// remedied adds the remedy to an error of the kernel, if there is one.
func remedied(err error, o *Options) error {
	if errors.Is(err, fs.ErrPermission) && !errors.Is(err, errTooMuchMemory) {
		return &perfaccess.Error{Err: err, Process: perfaccess.Read()}
	}
	if remedy := remedy(err, o); remedy != "" {
		return fmt.Errorf("%w (%s)", err, remedy)
	}
	return err
}

func remedy(err error, o *Options) string {
	switch {
	case errors.Is(err, errTooMuchMemory):
		return "raise the sysctl kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or give the program CAP_IPC_LOCK"
	case errors.Is(err, errno.EMFILE):
		return "raise RLIMIT_NOFILE: ulimit -n"
	case errors.Is(err, errno.EINVAL) && o.CgroupID:
		return "Options.CgroupID needs a kernel with CONFIG_CGROUP_PERF"
	case o.Cgroup != "" && errors.Is(err, errno.ENOENT):
		return "the cgroup has no controllers yet: enable any in cgroup.subtree_control of its parent"
	case o.Cgroup != "" && (errors.Is(err, errno.EINVAL) || errors.Is(err, errno.EBADF)):
		return "Options.Cgroup needs a kernel with CONFIG_CGROUP_PERF, and a directory of cgroup v2 or of the controller perf_event"
	case errors.Is(err, errors.ErrUnsupported):
		return "the kernel needs CONFIG_PERF_EVENTS"
	}
	return ""
}
