package uevents

import "os"

// EnvDataFile names the environment variable that [Open] looks at after its options: the
// path of user_events_data, or of the directory that holds it. Containers need it where the
// file is mounted in an unusual place, as Docker's AppArmor profile requires.
const EnvDataFile = "USER_EVENTS_DATA"

// IndexSize is the number of bytes at the start of a buffer given to
// [Event.Write] that belong to the write index.
const IndexSize = 4

// Limits on payloads, in bytes without the write index. The kernel reports success for
// larger ones and throws them away.
const (
	// MaxPayload is the default limit: what ftrace keeps with its default buffers of 4 KiB,
	// and so what every tracer keeps.
	MaxPayload = 4064

	// MaxPayloadPerf is what perf keeps. Use it as limit only where ftrace and trace-cmd
	// are not used.
	MaxPayloadPerf = 8184
)

// Options are the options of [Open]. The zero value and nil mean defaults.
type Options struct {
	// Path is the path of user_events_data, or of the directory that holds it (a mounted
	// tracefs). Empty: the environment variable [EnvDataFile], else
	// /sys/kernel/tracing/user_events_data, else what /proc/self/mountinfo lists.
	Path string

	// File is a user_events_data that somebody else opened for writing, such as systemd
	// (OpenFile=) or a privileged parent. The provider duplicates the descriptor; the
	// caller keeps its own and may close it. Path and environment are then not looked at.
	File *os.File

	// MaxPayload is the limit of [Event.Write] for the provider's events, in bytes. 0 means
	// [MaxPayload]; negative means no limit, for measuring.
	MaxPayload int
}

func (o *Options) maxPayload() int {
	switch {
	case o == nil || o.MaxPayload == 0:
		return MaxPayload
	case o.MaxPayload < 0:
		return int(^uint(0) >> 1)
	}
	return o.MaxPayload
}

// ConflictPolicy says what happens when another program may have the same event with other
// fields. All programs of a machine share one namespace of events, containers included, so
// this happens whenever a rolling upgrade changes the fields of an event.
type ConflictPolicy uint8

const (
	// ConflictRefuse registers the name as it is and fails with [ErrConflict]. It is right
	// for events whose fields never change.
	ConflictRefuse ConflictPolicy = iota

	// ConflictHash appends a hash of the fields to the name, such as
	// "myapp_request_1a2b3c4d", so that every version of the fields has a name of its own,
	// the same on every machine. Tools attach with a wildcard.
	ConflictHash

	// ConflictMultiFormat lets the kernel tell the versions apart, where it can (Linux 6.9
	// and later): the event becomes "myapp_request.0" (a hexadecimal number that the kernel
	// chooses) in the system user_events_multi. Some collectors accept the system
	// user_events only. Elsewhere it falls back to ConflictHash.
	ConflictMultiFormat
)

// EventOptions are the options of [Provider.Register]. The zero value and nil mean
// defaults.
type EventOptions struct {
	// OnConflict is the policy for events of the same name with other fields.
	OnConflict ConflictPolicy

	// Persist asks the kernel to keep the event when its last user is gone, so that tools
	// can attach before the next start. It takes CAP_PERFMON and Linux 6.5 or so; where the
	// kernel refuses, the event is registered without. [Event.Persistent] has the outcome.
	Persist bool

	// Groups are the groups that the event joins; see [Provider.NewGroup]. Its enable bit is
	// in a word of the first one: if groups overlap, name the one with the most events first.
	Groups []*Group
}
