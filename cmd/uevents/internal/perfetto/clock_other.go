//go:build !linux

package perfetto

import "errors"

// ReadClocks returns [errors.ErrUnsupported]: only Linux has tracepoints.
func ReadClocks() (Clocks, error) { return Clocks{}, errors.ErrUnsupported }
