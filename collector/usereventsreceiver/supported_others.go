//go:build !linux

package usereventsreceiver

import (
	"errors"
	"fmt"
	"runtime"
)

// supported returns an error where no receiver can be created.
func supported() error {
	return fmt.Errorf("the receiver user_events needs Linux, and this is %s: remove it from the pipelines: %w", runtime.GOOS, errors.ErrUnsupported)
}

func missingCapabilities() []string { return nil }
