package autoexport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// joinSame joins the errors of components. Components that fail for the same reason, such as a kernel without user events, are
// one error, which has the reason once.
func joinSame(errs []error) error {
	type failure struct {
		components []string
		reason     error
	}
	var failures []failure
	var others []error
	for _, err := range split(errors.Join(errs...)) {
		reason := errors.Unwrap(err)
		component, ok := "", false
		if reason != nil {
			component, ok = strings.CutSuffix(err.Error(), ": "+reason.Error())
		}
		if !ok {
			others = append(others, err)
			continue
		}
		i := slices.IndexFunc(failures, func(f failure) bool { return f.reason.Error() == reason.Error() })
		if i < 0 {
			i = len(failures)
			failures = append(failures, failure{reason: reason})
		}
		failures[i].components = append(failures[i].components, component)
	}
	for _, f := range failures {
		others = append(others, fmt.Errorf("%s: %w", strings.Join(f.components, ", "), f.reason))
	}
	return errors.Join(others...)
}

// split returns the errors that errors.Join has joined.
func split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, split(e)...)
	}
	return errs
}
