package uevents

import "github.com/userevents/userevents-go/internal/backend"

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
