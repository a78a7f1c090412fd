package tracefs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// explained runs a command, and adds to its error what the kernel wrote about it into error_log meanwhile.
func (e *Event) explained(command string, run func() error) error {
	before, readErr := e.instance.readFile("error_log")
	err := run()
	if err == nil || readErr != nil {
		return err
	}
	after, readErr := e.instance.readFile("error_log")
	if readErr != nil {
		return err
	}
	if text := newProblem(before, after, command); text != "" {
		if isParenthesis(err) {
			return fmt.Errorf("event %s: %w: %s", e, errno.EINVAL, text)
		}
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// isParenthesis reports whether an error is what the kernel returns for parentheses and quotes without a match: -1, -2
// and -3, which are no errnos (calc_stack in kernel/trace/trace_events_filter.c).
func isParenthesis(err error) bool {
	return errors.Is(err, errno.EPERM) || errors.Is(err, errno.ENOENT) || errors.Is(err, errno.ESRCH)
}

// newProblem returns what the last entry of an error_log says about a command, unless the entry was the last one
// before: it then is about an earlier command, which may have had the same text. Entries begin with the time.
func newProblem(before, after, command string) string {
	entry := lastEntry(after)
	if entry == lastEntry(before) {
		return ""
	}
	return problemOf(entry, command)
}

// lastEntry returns the last entry of an error_log, or "" if there is none.
func lastEntry(log string) string {
	entry := log[strings.LastIndex(log, "\n[")+1:]
	if !strings.HasPrefix(entry, "[") {
		return ""
	}
	return entry
}

// problemOf returns what an entry of an error_log says if it is about the command, or about the start of it that the
// kernel kept. An entry is
//
//	[  117.404295] hist:user_events:ev: error: Couldn't find field
//	  Command: hist:keys=nope
//	                     ^
func problemOf(entry, command string) string {
	head, rest, _ := strings.Cut(entry, "\n")
	_, problem, ok := strings.Cut(head, ": error: ")
	line, caret, _ := strings.Cut(rest, "\n")
	const label = "  Command: "
	have, labelled := strings.CutPrefix(line, label)
	have = strings.TrimSpace(have)
	if !ok || !labelled || have == "" || !strings.HasPrefix(strings.TrimSpace(command), have) {
		return ""
	}
	caret, _, _ = strings.Cut(caret, "\n")
	if i := strings.IndexByte(caret, '^') - len(label); i >= 0 {
		return fmt.Sprintf("%s, at byte %d of %q", strings.TrimSpace(problem), i+1, have)
	}
	return strings.TrimSpace(problem)
}
