//go:build !linux

package uevents

import "runtime"

// Probe reports that this operating system has no user events.
func Probe(*Options) *Report {
	return &Report{Err: &Error{Op: "probe", Err: ErrNotSupportedOnOS}, Findings: []Finding{{What: "system", Result: runtime.GOOS + " " + runtime.GOARCH}}}
}
