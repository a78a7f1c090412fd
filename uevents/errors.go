package uevents

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
