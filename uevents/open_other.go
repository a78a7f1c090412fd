//go:build !linux

package uevents

import (
	"fmt"
	"runtime"
)

var errOS = fmt.Errorf("%w on %s", ErrNotSupported, runtime.GOOS)

// Open returns a provider whose events are never enabled, and an error that wraps [ErrNotSupported].
func Open(o *Options) (*Provider, error) {
	err := &Error{Op: "open", Err: errOS, Remedy: "use package ueventstest to run without a kernel"}
	return disabledProvider(err, o), err
}

// Probe reports that this operating system has no user events.
func Probe(*Options) *Report {
	return &Report{Err: &Error{Op: "probe", Err: errOS}, Findings: []Finding{{What: "system", Result: runtime.GOOS + " " + runtime.GOARCH}}}
}
