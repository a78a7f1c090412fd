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
// A filter neither enables the event nor changes what perf and other instances record. It replaces the one
// that was set. The kernel parses filters: the error wraps its errno (EINVAL) and has the text of its
// error_log, where the kernel wrote one.
func (e *Event) SetFilter(filter string) error {
	if err := checkText(filter); err != nil {
		return fmt.Errorf("filter of event %s: %w", e, err)
	}
	if strings.TrimSpace(filter) == "0" {
		return fmt.Errorf("filter of event %s: 0 removes the filter, which ClearFilter does: %w", e, errno.EINVAL)
	}
	return e.explain(filter, e.write("setting the filter of", "filter", filter))
}

// ClearFilter removes the filter. Without one it does nothing.
func (e *Event) ClearFilter() error { return e.write("removing the filter of", "filter", "0") }

// Filter returns the filter as the kernel prints it, or "" if there is none.
func (e *Event) Filter() (string, error) {
	text, err := e.read("filter")
	if text = strings.TrimSpace(text); text == "none" {
		text = ""
	}
	return text, err
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
	return e.explain(trigger, e.write("adding a trigger to", "trigger", trigger))
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
	return e.explain(trigger, e.write("removing a trigger of", "trigger", "!"+trigger))
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

// explain adds to an error what the kernel's error_log says about the command.
func (e *Event) explain(command string, err error) error {
	if err == nil {
		return nil
	}
	log, readErr := e.instance.readFile("error_log")
	if readErr != nil {
		return err
	}
	if text := lastError(log, command); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// lastError returns the last entry of an error_log if it is about the command, or about the start of it that the
// kernel kept. An entry is
//
//	[  117.404295] hist:user_events:ev: error: Couldn't find field
//	  Command: hist:keys=nope
//	                     ^
func lastError(log, command string) string {
	at := strings.LastIndex(log, "\n[") + 1
	if !strings.HasPrefix(log[at:], "[") {
		return ""
	}
	head, rest, _ := strings.Cut(log[at:], "\n")
	_, problem, ok := strings.Cut(head, ": error: ")
	line, caret, _ := strings.Cut(rest, "\n")
	const label = "  Command: "
	have, labelled := strings.CutPrefix(line, label)
	have = strings.TrimSpace(have)
	if !ok || !labelled || have == "" || !strings.HasPrefix(strings.TrimSpace(command), have) {
		return ""
	}
	caret, _, _ = strings.Cut(caret, "\n")
	if i := strings.IndexByte(caret, '^') - len(label); i > 0 && i < len(have) {
		return fmt.Sprintf("%s, at %q", strings.TrimSpace(problem), have[i:])
	}
	return strings.TrimSpace(problem)
}
