package tracefs

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

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
