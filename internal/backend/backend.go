// Package backend is the seam between package uevents and the kernel:
// the real user_events files, or those simulated in package ueventstest. It is internal
// so that the seam does not become API.
//
// A backend speaks the kernel's language: commands, bits of words, write indexes and
// errnos. Policies (validation, fallbacks, sizes, lifetimes) belong to package uevents,
// which therefore behaves the same on both.
package backend

import (
	"math/bits"
	"sync/atomic"
)

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

// FlagMultiFormat is USER_EVENT_REG_MULTI_FORMAT. Tests register such events, as other programs do.
const FlagMultiFormat = 1 << 1

// WordBits is the number of enable bits in a word. Words have the machine's native width.
const WordBits = bits.UintSize

// Request is what a program asks when it registers an event.
type Request struct {
	Command string // name and fields, without a terminating NUL
	Flags   uint16
	// Word and Bit are the enable word, which comes from NewWord, and the bit in it that the
	// kernel sets while a tracing tool is attached. The two status generations ignore both.
	Word *atomic.Uintptr
	Bit  uint8
}

// Registration is the kernel's answer. The event is enabled while Word has one of the bits
// of Mask. Word stays readable for the life of the process.
type Registration struct {
	Index uint32
	Word  *atomic.Uintptr
	Mask  uintptr
}

// Backend is one open user_events_data file. All methods may be called concurrently.
// Errors are syscall.Errno values as the kernel returns them, possibly wrapped.
type Backend interface {
	ABI() ABI

	// NewWord returns a zero word for up to WordBits enable bits. It stays readable for the
	// life of the process, also after FreeWord.
	NewWord() (*atomic.Uintptr, error)
	// FreeWord returns a word to the pool. None of its bits may still be registered.
	FreeWord(*atomic.Uintptr)

	// Register performs DIAG_IOCSREG. It fails with EADDRINUSE if the event has other fields,
	// and if the kernel has not yet freed an earlier registration of the same word and bit.
	Register(Request) (Registration, error)
	// Unregister performs DIAG_IOCSUNREG; with the status generations it does nothing. It
	// fails with ENOENT if the kernel has no registration of this word and bit.
	Unregister(word *atomic.Uintptr, bit uint8) error
	// AwaitRemoval waits a little for the kernel to remove an event whose last user is gone. It returns false at once if
	// the kernel removes events without delay, or never.
	AwaitRemoval() bool
	// Delete performs DIAG_IOCSDEL through a descriptor of its own.
	Delete(name string) error
	// Fields returns the declaration, as Declaration.FieldList prints it, that the event
	// has now, if this program can see it.
	Fields(name string) (fields string, known bool)
	// Write writes one event: a write index in host byte order and a payload. It does not
	// retain buf. It must not run during or after Close.
	Write(buf []byte) error
	// Lost reports whether the descriptor is no longer that of the file: other code of the program has closed it.
	Lost() bool
	// Close closes the descriptor, whose number may be reused at once. It is called once.
	Close() error
}

// NewProvider makes a *uevents.Provider of a backend, on behalf of package ueventstest.
// Package uevents sets it.
var NewProvider func(Backend) any

// OpenSimulated opens user_events_data of a *ueventstest.Kernel, for tests of this module
// that work below the library's policies. Package ueventstest sets it.
var OpenSimulated func(kernel any) Backend
