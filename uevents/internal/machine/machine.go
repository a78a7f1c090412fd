// Package machine reads what a machine says of itself that bears on user events, and explains from it why they
// cannot be used.
package machine

import "errors"

// ErrNotSupported is [uevents.ErrNotSupported].
var ErrNotSupported = errors.New("user_events are not supported")

// Finding is one thing that was looked at.
type Finding struct {
	What   string // such as "tracefs"
	Result string // what was found
	Remedy string // what to do if that is a problem, else ""
}
