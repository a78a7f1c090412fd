package uevents

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"os"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/tracepoint"
)

// EnvDataFile names the environment variable that [Open] looks at after its options: the
// path of user_events_data, or of the directory that holds it. Containers need it where the
// file is mounted in an unusual place, as Docker's AppArmor profile requires.
const EnvDataFile = "USER_EVENTS_DATA"

// IndexSize is the number of bytes at the start of a record given to
// [Event.WriteRecord] that are reserved for the write index.
const IndexSize = 4

// Options are the options of [Open].
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
	// [tracepoint.MaxPayload], which every tracing tool keeps; perf alone keeps 8,184. The kernel reports success for larger records,
	// and the tools do not get them. Negative means no limit, for measuring.
	MaxPayload int
}

// maxPayload returns the limit. Together with the write index it does not exceed an int.
func (o *Options) maxPayload() int {
	const unlimited = math.MaxInt - IndexSize
	switch {
	case o == nil || o.MaxPayload == 0:
		return tracepoint.MaxPayload
	case o.MaxPayload < 0:
		return unlimited
	}
	return min(o.MaxPayload, unlimited)
}

// EventOptions are the options of [Provider.Register].
type EventOptions struct {
	// Naming is the policy for the event's name, by default [NameExact].
	Naming Naming

	// Groups are the groups that the event joins; see [Provider.NewGroup]. Its enable bit is
	// in a word of the first one: if groups overlap, name the one with the most events first.
	Groups []*Group
}

// Naming is the policy for the name that an event is registered with. All programs of a machine share one namespace
// of events, containers included, and an event stays while a tracing tool is attached to it, even after its program
// has ended. So a new version of a program whose event has other fields may find the name taken.
//
// Without a tool the kernel (Linux 6.5 and later) removes the event tens of milliseconds after its last program has
// ended or closed the provider. Register waits for that in steps of 5 ms, 200 ms in all for each provider.
type Naming uint8

const (
	// NameDefault is the default of the function that takes the option: [NameExact] for [Provider.Register],
	// [NameHashedOnConflict] for struct events and declared records.
	NameDefault Naming = iota

	// NameExact registers the name of the declaration. If it is taken by an event with other fields, Register fails
	// with [ErrConflict].
	NameExact

	// NameHashedOnConflict registers the name of the declaration, and if it is taken by an event with other fields,
	// the name with a hash of the fields behind it, such as "myapp_request_1a2b3c4d". The same fields have the same hash
	// on every machine. [Event.Conflict] says which of the two happened. Tools that attach with the wildcard
	// "myapp_request*" see both.
	NameHashedOnConflict
)

// check reports what is wrong with any declaration that the policy may lead to, before the kernel is asked.
func (n Naming) check(d tracepoint.Declaration) error {
	if err := d.Validate(); err != nil {
		return err
	}
	switch n {
	case NameDefault, NameExact:
		return nil
	case NameHashedOnConflict:
		if err := hashed(d).Validate(); err != nil {
			return fmt.Errorf("with the hash that the naming policy adds: %w", err)
		}
		return nil
	}
	return fmt.Errorf("unknown naming policy %d: %w", n, fs.ErrInvalid)
}

// hashed returns the declaration with a hash of its fields in the name. The hash is FNV-1a
// of 32 bits over the fields in command syntax, in hexadecimal: the same fields have the
// same name in every program, on every machine and in every release of this package.
func hashed(d tracepoint.Declaration) tracepoint.Declaration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.FieldList())) // never fails
	d.Name = fmt.Sprintf("%s_%08x", d.Name, h.Sum32())
	return d
}

// Conflict returns nil if the event has the name of its declaration, and otherwise the reason why it has a hashed one: a
// notice for the program's log, since the event works. It wraps [ErrConflict] and shows the fields of the other
// event where they can be read.
func (e *Event) Conflict() error { return e.conflict }

// EnvTransport names the environment variable that overrides [Options.Transport]: auto, kernel, memory or off. With off, an
// operator turns the events of a program off, as if this system did not support them. A program that runs with other privileges than its
// caller, such as one with a set-user-ID bit, does not look at it, nor at [EnvDataFile].
const EnvTransport = "USER_EVENTS_TRANSPORT"

// envDir names the environment variable that names a directory for the files of [TransportMemory], which has to be there. It is for
// tools that share a directory with the program and cannot look into /proc/PID/fd; those of this project need /proc. Without it,
// files have no names on Linux; on macOS and the BSDs, and where Linux has no memfd_create, they are in userevents of
// XDG_RUNTIME_DIR, or else in userevents-UID of the directory for temporary files.
const envDir = "USER_EVENTS_DIR"

// Transport is a way for events to get to tracing tools.
type Transport uint8

const (
	// TransportAuto is the kernel, or memory where the kernel does not support user events or refuses them to the program.
	TransportAuto Transport = iota
	// TransportKernel is the kernel's user_events: tracepoints for perf, ftrace and all tools built on them.
	TransportKernel
	// TransportMemory is shared memory of the program, for the tools of this project. It needs a 64-bit processor and Linux,
	// macOS or a BSD, and no permission. Tools that may read the program's memory can attach.
	TransportMemory
	// TransportOff is none: events are never enabled.
	TransportOff
)

var transports = [...]string{"auto", "kernel", "memory", "off"}

// String returns the value of [EnvTransport] that asks for the transport.
func (t Transport) String() string {
	if int(t) < len(transports) {
		return transports[t]
	}
	return fmt.Sprintf("Transport(%d)", uint8(t))
}

func (o *Options) transport() (Transport, error) {
	var asked Transport
	if o != nil {
		asked = o.Transport
	}
	value := getenv(EnvTransport)
	if value == "" {
		value = asked.String()
	}
	for t, name := range transports {
		if name == value {
			return Transport(t), nil
		}
	}
	return TransportOff, fmt.Errorf("transport %q (%s or Options.Transport): it must be one of %q", value, EnvTransport, transports)
}

// getenv is os.Getenv for programs whose caller has no fewer privileges than they have.
func getenv(name string) string {
	if sys.Secure() {
		return ""
	}
	return os.Getenv(name)
}

var errOff = fmt.Errorf("%w: they are turned off (%s or Options.Transport)", ErrNotSupported, EnvTransport)

// ABI is a generation of the kernel's user_events interface.
type ABI uint8

// The generations. They differ in how a program learns that an event is enabled.
const (
	ABIUnknown       = ABI(backend.Unknown)
	ABIStatusByte    = ABI(backend.StatusByte)    // Linux 5.18 to 6.0: a byte in a page that the kernel shares
	ABIStatusBit     = ABI(backend.StatusBit)     // Linux 6.1 to 6.3: a bit in that page
	ABIEnableAddress = ABI(backend.EnableAddress) // Linux 6.4 and later: a bit in the program's memory
)

// String returns "status byte", "status bit", "enable address" or "unknown".
func (a ABI) String() string { return backend.ABI(a).String() }
