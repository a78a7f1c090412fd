// Package backend is the seam between package uevents and what stands in for the kernel:
// the real user_events files, or the model of them in package ueventstest. It is internal
// so that the seam does not become API.
//
// A backend speaks the kernel's language: commands, bits of words, write indexes and
// errnos. Policies (validation, fallbacks, sizes, lifetimes) belong to package uevents,
// which therefore behaves the same on both.
package backend

import "sync/atomic"

// ABI is one of the three generations of the user_events interface.
type ABI uint8

const (
	// Unknown is that of no interface at all.
	Unknown ABI = iota
	// StatusByte (5.18 to 6.0): an event has a byte in a status page.
	StatusByte
	// StatusBit (6.1 to 6.3): an event has a bit in a status page.
	StatusBit
	// EnableAddress (6.4 and later): an event has a bit in the program's memory.
	EnableAddress
)

// String returns the name that the documentation uses.
func (a ABI) String() string {
	switch a {
	case StatusByte:
		return "status byte"
	case StatusBit:
		return "status bit"
	case EnableAddress:
		return "enable address"
	}
	return "unknown"
}

// Registration flags (include/uapi/linux/user_events.h).
const (
	FlagPersist     = 1 << 0 // USER_EVENT_REG_PERSIST
	FlagMultiFormat = 1 << 1 // USER_EVENT_REG_MULTI_FORMAT
)

// Request is what a program asks when it registers an event.
type Request struct {
	Command string // name and fields, without a terminating NUL
	Flags   uint16
	// Word and Bit are where the kernel is to tell that somebody traces. Word comes from
	// NewWord. Backends of the two status generations ignore both.
	Word *atomic.Uint32
	Bit  uint8
}

// Registration is the kernel's answer. Word and Mask say where to look from now on; Word
// stays readable for ever.
type Registration struct {
	Index uint32
	Word  *atomic.Uint32
	Mask  uint32
}

// Backend is one open user_events_data file. All methods may be called concurrently;
// Register and Unregister are only called on the one thread of package uevents that
// registers. Errors are syscall.Errno values as the kernel returns them, possibly wrapped.
type Backend interface {
	ABI() ABI

	// NewWord returns zeroed memory for up to 32 enable bits, which stays readable for
	// ever.
	NewWord() (*atomic.Uint32, error)
	// FreeWord gives a word back none of whose bits is registered any more.
	FreeWord(*atomic.Uint32)

	// Register performs DIAG_IOCSREG.
	Register(Request) (Registration, error)
	// Unregister performs DIAG_IOCSUNREG; with the status generations it does nothing.
	Unregister(word *atomic.Uint32, bit uint8) error
	// Delete performs DIAG_IOCSDEL through a descriptor of its own.
	Delete(name string) error
	// Fields returns the declaration, as Declaration.FieldList prints it, that the event
	// has now, if this program can see it.
	Fields(name string) (fields string, known bool)
	// Write writes one event: a write index in host byte order and a payload. It does not
	// retain buf. After Close it fails with EBADF and reaches nothing.
	Write(buf []byte) error
	// Close gives the descriptor up. It is called once.
	Close() error
}

// NewProvider makes a *uevents.Provider of a backend, on behalf of package ueventstest.
// Package uevents sets it.
var NewProvider func(Backend) any
