package uevents

import (
	"math"
	"os"

	"github.com/userevents/userevents-go/tracepoint"
)

// EnvDataFile names the environment variable that [Open] looks at after its options: the
// path of user_events_data, or of the directory that holds it. Containers need it where the
// file is mounted in an unusual place, as Docker's AppArmor profile requires.
const EnvDataFile = "USER_EVENTS_DATA"

// IndexSize is the number of bytes at the start of a record given to
// [Event.WriteRecord] that are reserved for the write index.
const IndexSize = 4

// MaxPayload is the default limit of payloads, in bytes without the write index.
const MaxPayload = tracepoint.MaxPayload

// Options are the options of [Open]. The zero value and nil mean defaults.
type Options struct {
	// Transport is the way of the events, unless the environment variable [EnvTransport] has a value. With the default, memory is
	// not tried if Path, File, [EnvDataFile] or a passed descriptor names the kernel's file: then Open returns its error.
	Transport Transport

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
	// [MaxPayload], which every tracing tool keeps; perf alone keeps 8,184. The kernel reports success for larger records,
	// and the tools do not get them. Negative means no limit, for measuring.
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

	// Groups are the groups that the event joins; see [Provider.NewGroup]. Its enable bit is
	// in a word of the first one: if groups overlap, name the one with the most events first.
	Groups []*Group
}
