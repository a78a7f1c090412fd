package uevents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

var (
	// ErrNotSupported says that this machine conclusively has no user events.
	ErrNotSupported = machine.ErrNotSupported

	// ErrTooLarge is returned by [Event.WriteRecord] for a payload above [Event.MaxPayload]. The
	// kernel would report success, and tracing tools would not get the record.
	ErrTooLarge = errors.New("uevents: payload is above the event's limit: cut it to Event.MaxPayload")

	// ErrConflict says that the event's name is taken by an event with other fields, of any
	// program on the machine.
	ErrConflict = errors.New("an event of this name has other fields")

	// ErrClosed says that the provider or event was closed. It wraps [fs.ErrClosed].
	ErrClosed = fmt.Errorf("user_events provider: %w", fs.ErrClosed)

	// ErrShortBuffer is returned by [Event.WriteRecord] for a buffer without room for the write
	// index, or whose payload is shorter than the event's fixed fields.
	ErrShortBuffer = errors.New("uevents: buffer is shorter than the write index and the event's fixed fields")
)

var (
	errNotOpened  = errors.New("the provider is nil or does not come from uevents.Open")
	errUnwritable = errors.New("a record of the fixed fields is above the provider's limit")
)

// Error is a failed operation on user events.
type Error struct {
	Op     string // what was tried, such as "register"
	Name   string // on what: an event, a file; may be empty
	Err    error  // why; unwraps to the kernel's errno where there is one
	Remedy string // what to do about it; may be empty
}

// Error implements error.
func (e *Error) Error() string { return "uevents: " + e.text() }

func (e *Error) text() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Name != "" {
		b.WriteString(" " + e.Name)
	}
	if cause, ok := e.Err.(*Error); ok { //nolint:errorlint // the package's name once: an error around it has a text of its own
		b.WriteString(": " + cause.text())
	} else {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func remedyRegister(t Transport, abi ABI, err error) string {
	switch {
	case errors.Is(err, errUnwritable):
		return "raise Options.MaxPayload, or drop or shorten fields"
	case t == TransportMemory:
		return remedyMemory(err)
	case errors.Is(err, ErrConflict):
		return "all programs of a machine share event names: end the other program, detach the tools from its event, or choose NameHashedOnConflict"
	case errors.Is(err, errno.EMFILE) && abi != ABIEnableAddress:
		return "the kernel's status page is full, and this kernel keeps events: delete those that no program uses"
	case errors.Is(err, errno.EMFILE):
		return "the machine has as many user events as it may: raise the sysctl kernel.user_events_max"
	case errors.Is(err, errno.ENOMEM):
		return "the kernel is out of memory, or the cgroup at its limit"
	}
	return ""
}

// remedyMemory is remedyRegister for shared memory, which is the program's own.
func remedyMemory(err error) string {
	var call *os.SyscallError
	system := errors.As(err, &call)
	switch {
	case errors.Is(err, ErrConflict):
		return "the program has registered the name with other fields: close that event, or choose NameHashedOnConflict"
	case errors.Is(err, errno.EMFILE) && system:
		return "the program has as many open files as it may: raise RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, errno.EMFILE):
		return "register the same events again rather than new ones"
	case errors.Is(err, errno.ENOMEM) && !system:
		return "put events into groups, which share enable words"
	}
	return ""
}

func remedyWrite(err error) string {
	switch {
	case errors.Is(err, errno.EBADF):
		return "other code of the program has closed the descriptor of user_events_data, whose number may now be that of another file: find it"
	case errors.Is(err, errno.EFAULT):
		return "dynamic fields must lie inside the payload, and texts end in a NUL, empty ones too; package encode/typed writes such payloads"
	}
	return ""
}

func remedyDelete(err error) string {
	switch {
	case errors.Is(err, errno.EBUSY):
		return "detach the tools, and close the providers of all programs that registered it: closing the event is not enough"
	case errors.Is(err, fs.ErrPermission):
		return "deleting a persistent event takes CAP_PERFMON"
	}
	return ""
}
