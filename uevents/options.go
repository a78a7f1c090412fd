package uevents

import (
	"math"
	"os"
)

// EnvDataFile names the environment variable that [Open] looks at after its options: the
// path of user_events_data, or of the directory that holds it. Containers need it where the
// file is mounted in an unusual place, as Docker's AppArmor profile requires.
const EnvDataFile = "USER_EVENTS_DATA"

// IndexSize is the number of bytes at the start of a record given to
// [Event.WriteRecord] that are reserved for the write index.
const IndexSize = 4

// Limits on payloads, in bytes without the write index. The kernel reports success for
// larger ones, and tracing tools do not get them.
const (
	// MaxPayload is the default limit: what ftrace keeps with its default buffers of 4 KiB,
	// and so what every tracing tool gets.
	MaxPayload = 4064

	// MaxPayloadPerf is what perf keeps. Use it as limit only where ftrace and trace-cmd
	// are not used.
	MaxPayloadPerf = 8184
)

// Options are the options of [Open]. The zero value and nil mean defaults.
type Options struct {
	// Path is the path of user_events_data, or of the directory that holds it (a mounted
	// tracefs). Empty: the environment variable [EnvDataFile], else a descriptor that systemd passed by the name
	// user_events or user_events_data (OpenFile=; LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID say which), else
	// /sys/kernel/tracing/user_events_data, else what /proc/self/mountinfo lists.
	Path string

	// File is a user_events_data that another program opened for writing, such as a
	// privileged parent. The provider duplicates the descriptor; the
	// caller keeps its own and may close it. Path and environment are then not looked at.
	File *os.File

	// MaxPayload is the limit of [Event.WriteRecord] for the provider's events, in bytes. 0 means
	// [MaxPayload]; negative means no limit, for measuring.
	MaxPayload int
}

// maxPayload returns the limit. Together with the write index it does not exceed an int.
func (o *Options) maxPayload() int {
	const unlimited = math.MaxInt - IndexSize
	switch {
	case o == nil || o.MaxPayload == 0:
		return MaxPayload
	case o.MaxPayload < 0:
		return unlimited
	}
	return min(o.MaxPayload, unlimited)
}

// EventOptions are the options of [Provider.Register]. The zero value and nil mean
// defaults.
type EventOptions struct {
	// Naming is the policy for the event's name, by default [NameExact].
	Naming Naming

	// Persist asks the kernel to keep the event when its last user is gone, so that tools
	// can attach before the program's next start. It takes Linux 6.7 and CAP_PERFMON; where the kernel
	// refuses, the event is registered without it. Linux 6.4 and earlier keep every event, asked or not; 6.5 and 6.6 keep
	// none. An event that exists already stays what it is. [Event.Persistence] has the outcome.
	Persist bool

	// Groups are the groups that the event joins; see [Provider.NewGroup]. Its enable bit is
	// in a word of the first one: if groups overlap, name the one with the most events first.
	Groups []*Group
}
