package tracefs

import (
	"errors"
	"fmt"
	"os"
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

// AddTrigger makes the kernel do something at each record, such as
//
//	hist:keys=route:vals=latency_ns
//	traceoff if status >= 500
//
// A trigger enables the event for the program, whether or not the instance records it. The error wraps the
// kernel's errno, EEXIST for a trigger that is there already, and has the text of its error_log, where the kernel
// wrote one.
func (e *Event) AddTrigger(trigger string) error {
	if err := checkTrigger(trigger); err != nil {
		return fmt.Errorf("trigger of event %s: %w", e, err)
	}
	return e.explained(trigger, func() error { return e.write("adding a trigger to", "trigger", trigger) })
}

// RemoveTrigger removes a trigger, given as for AddTrigger or as [Event.Triggers] lists it. Removing
// a histogram deletes what it counted. The kernel does not say whether there was such a trigger.
func (e *Event) RemoveTrigger(trigger string) error {
	if err := checkTrigger(trigger); err != nil {
		return fmt.Errorf("trigger of event %s: %w", e, err)
	}
	// What the listing adds is no part of the command.
	for _, state := range []string{" [active]", " [paused]"} {
		trigger = strings.TrimSuffix(trigger, state)
	}
	return e.explained(trigger, func() error { return e.write("removing a trigger of", "trigger", "!"+trigger) })
}

// Triggers lists the triggers as the kernel prints them.
func (e *Event) Triggers() ([]string, error) {
	text, err := e.read("trigger")
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(text) {
		// The comment of an event without triggers lists those that the kernel has.
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list, nil
}

// Hist returns the text of the event's histograms: what each hist trigger counted so far.
func (e *Event) Hist() (string, error) { return e.read("hist") }

func checkTrigger(trigger string) error {
	if strings.HasPrefix(strings.TrimSpace(trigger), "!") {
		return fmt.Errorf("%q would remove a trigger: %w", trigger, errno.EINVAL)
	}
	return checkText(trigger)
}

// explained runs a command, and adds to its error what the kernel wrote about it into error_log meanwhile.
func (e *Event) explained(command string, run func() error) error {
	before, readErr := os.ReadFile(e.instance.Path("error_log"))
	err := run()
	if err == nil || readErr != nil {
		return err
	}
	after, readErr := os.ReadFile(e.instance.Path("error_log"))
	if readErr != nil {
		return err
	}
	if text := newProblem(string(before), string(after), command); text != "" {
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
