//go:build !linux

package uevents

// Open returns a provider whose events are never enabled, and an error that wraps
// [ErrNotSupportedOnOS].
func Open(o *Options) (*Provider, error) {
	err := &Error{Op: "open", Err: ErrNotSupportedOnOS, Remedy: "use package ueventstest to run without a kernel"}
	return disabledProvider(err, o), err
}
