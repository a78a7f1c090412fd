package perf

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
)

// Options are the choices of a session. The zero value has the default of each.
type Options struct {
	// BufferSize is the size of each ring in bytes, rounded up to a power of two of whole pages; 0 means 512
	// KiB. There is a ring for each CPU and each name in AttachOptions.Ring. Where the kernel refuses so much
	// memory (see Open), rings are smaller, which Stats reports.
	BufferSize int
	// Latency is how long a record may stay in a ring that is less than a quarter full; 0 means 100 ms.
	// Below a quarter the kernel wakes no reader, so that most events cost the traced program no wakeup.
	Latency time.Duration
	// Immediate makes each record wake the reader, which costs the traced program more than the record:
	// for events that are rare, or whose filter makes them so.
	Immediate bool
	// Window is how long a record is kept back so that older records of other CPUs can come before it; 0 means
	// 10 ms. Records that come even later are delivered, and counted in Stats.Late.
	Window time.Duration
	// Poll is how often Follow looks for new events, and the session for CPUs that went offline or came
	// online; 0 means 250 ms.
	Poll time.Duration
	// Overwrite makes new records replace old ones, without ever waking a reader. Snapshot reads them; ReadInto
	// is not possible. Rings have 64 KiB at least, of which the oldest 16 KiB are not read: a writer may be at
	// work there.
	Overwrite bool
	// Tasks delivers records of the kinds Comm, Fork and Exit of all threads of the machine, or of Cgroup, beside
	// the samples.
	Tasks bool
	// Callchain adds the return addresses of the user's stack to samples, which costs the traced program more.
	Callchain bool
	// CgroupID adds the id of the writer's cgroup to samples. The kernel needs CONFIG_CGROUP_PERF.
	CgroupID bool
	// Cgroup is the directory of a cgroup, such as /sys/fs/cgroup/system.slice. The kernel then records only what
	// processes in it write, and in cgroups below it.
	Cgroup string
	// Processes are the ids of the processes whose samples are delivered; nil means all. The kernel records the
	// others too, and they are counted as read and excluded. Records of tasks are not selected by it.
	Processes []int
}

const (
	defaultBufferSize = 512 << 10
	defaultLatency    = 100 * time.Millisecond
	defaultWindow     = 10 * time.Millisecond
	defaultPoll       = 250 * time.Millisecond
	maxBufferSize     = 1 << 30
)

// checked returns the options with defaults in place of zeros.
func (o *Options) checked() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{{"Latency", &c.Latency, defaultLatency}, {"Window", &c.Window, defaultWindow}, {"Poll", &c.Poll, defaultPoll}} {
		if *d.v < 0 {
			return c, fmt.Errorf("the option %s is negative: %w", d.name, errno.EINVAL)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	switch {
	case c.BufferSize < 0 || c.BufferSize > maxBufferSize:
		return c, fmt.Errorf("the option BufferSize is %d and must be 0 to %d bytes: %w", c.BufferSize, maxBufferSize, errno.EINVAL)
	case c.BufferSize == 0:
		c.BufferSize = defaultBufferSize
	}
	size := os.Getpagesize()
	for size < c.BufferSize || c.Overwrite && size < minOverwrite {
		size *= 2
	}
	c.BufferSize = size
	return c, nil
}

// AttachOptions are the choices for one event. The zero value has the default of each.
type AttachOptions struct {
	// Filter is in the kernel's syntax, such as status >= 500 && route ~ "/users/*" (Documentation/trace/events.rst).
	// Empty means none. common_pid in it is the id of a thread: see Options.Processes.
	Filter string
	// Ring names the rings that the event writes to. Events that share a ring, by default all of the session,
	// compete for its room: give important events rings of their own.
	Ring string
	// CountOnly counts the event without recording it.
	CountOnly bool
}

func (o *AttachOptions) checked() (AttachOptions, error) {
	var c AttachOptions
	if o != nil {
		c = *o
	}
	return c, checkFilter(c.Filter)
}

// checkFilter refuses a filter that the kernel would read as several, or as none.
func checkFilter(filter string) error {
	if strings.ContainsAny(filter, "\n\x00") || filter != "" && strings.TrimSpace(filter) == "" {
		return fmt.Errorf("filter %q is not one line of text: %w", filter, errno.EINVAL)
	}
	return nil
}
