package uevents

import (
	"fmt"
	"os"

	"github.com/userevents/userevents-go/internal/sys"
)

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

// transport returns what environment or options ask for.
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

// errOff is the error of a transport that was turned off.
var errOff = fmt.Errorf("%w: they are turned off (%s or Options.Transport)", ErrNotSupported, EnvTransport)
