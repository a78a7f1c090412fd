package tracefs

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// SetFilter makes the instance record only the records for which the filter holds, such as
//
//	status >= 500 && route ~ "/users/*"
//
// It replaces the filter that was set; an empty one removes it. A filter neither enables the event nor changes what perf
// and other instances record, and triggers work on all records: they have conditions of their own, such as
// hist:keys=route if status >= 500. The kernel parses filters: the error wraps its errno (EINVAL) and has the text of its
// error_log, where the kernel wrote one. The kernel then has dropped the filter that was set, too, and the instance
// records all records of the event.
func (e *Event) SetFilter(filter string) error {
	if filter == "" {
		return e.write("removing the filter of", "filter", "0")
	}
	if err := checkText(filter); err != nil {
		return fmt.Errorf("filter of event %s: %w", e, err)
	}
	return e.explained(filter, func() error { return e.write("setting the filter of", "filter", filter) })
}

// Filter returns the filter as the kernel prints it, or "" if there is none.
func (e *Event) Filter() (string, error) {
	text, err := e.read("filter")
	text = strings.TrimSpace(text)
	// A filter that was refused stays to be read, on lines of its own before those of the error. It is not in force.
	if text == "none" || strings.Contains(text, "\nparse_error: ") {
		text = ""
	}
	return text, err
}

// checkText refuses what the kernel would not read as one command.
func checkText(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("it is empty: %w", errno.EINVAL)
	case strings.ContainsAny(s, "\n\x00"):
		return fmt.Errorf("%q has more than one line: %w", s, errno.EINVAL)
	}
	return nil
}
