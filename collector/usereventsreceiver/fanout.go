package usereventsreceiver

import (
	"slices"

	"go.opentelemetry.io/collector/consumer/consumererror"
)

// members returns the errors of the consumers behind a fan-out, if there are several, else the error alone.
func members(err error) []error {
	for e := err; e != nil; {
		switch u := e.(type) { //nolint:errorlint // it looks for joined errors itself
		case interface{ Unwrap() []error }:
			if list := u.Unwrap(); len(list) > 1 {
				return list
			} else if len(list) == 1 {
				e = list[0]
				continue
			}
			return []error{err}
		case interface{ Unwrap() error }:
			inner := u.Unwrap()
			if consumererror.IsPermanent(e) && !consumererror.IsPermanent(inner) { // one consumer's, of whatever it joins
				return []error{err}
			}
			e = inner
		default:
			return []error{err}
		}
	}
	return []error{err}
}

// isPermanent reports whether all consumers that refused data have done so for good. Those that may take it later get it again, and so do the
// others of the fan-out.
func isPermanent(err error) bool {
	return !slices.ContainsFunc(members(err), func(err error) bool { return !consumererror.IsPermanent(err) })
}
