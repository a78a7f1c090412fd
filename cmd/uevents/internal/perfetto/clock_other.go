//go:build !linux

package perfetto

import "errors"

// MachineClocks returns [errors.ErrUnsupported]: only Linux has tracepoints.
func MachineClocks() (Clocks, error) { return Clocks{}, errors.ErrUnsupported }
