package ueventstest

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

const userPrefix = "u:"

// maxLine is the longest line of a write to dynamic_events, with its newline if it has one.
const maxLine = 4095

// DynamicEvents returns the text of dynamic_events: a line "u:NAME FIELDS" for every event,
// in the order of their registration.
func (k *Kernel) DynamicEvents() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	for _, e := range k.events() {
		b.WriteString(userPrefix + e.regName)
		if len(e.fields) > 0 {
			b.WriteString(" " + fieldList(e.fields))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// WriteDynamicEvents does what a write to dynamic_events does. Each line is a command:
// "u:NAME FIELDS" makes a persistent event, "!u:NAME FIELDS" and "-:user_events/NAME
// FIELDS" remove one. A # begins a comment.
//
// With the enable address an event is removed only if its fields are named too, in the same
// words. The status generations compare fields only if some are named.
//
// The first command that fails ends the write; earlier ones have been carried out. Errors
// wrap EINVAL for what is not understood, EADDRINUSE for a name that is taken by an event
// with other fields, EPERM without CAP_PERFMON, EMFILE when there are too many events,
// ENOENT for an event that is not there, EBUSY for one that is still held, and ENODEV on a
// closed kernel.
func (k *Kernel) WriteDynamicEvents(text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return fmt.Errorf("ueventstest: writing dynamic_events of a closed kernel: %w", errno.ENODEV)
	}
	for line := range strings.Lines(text) {
		if err := k.dynamicLine(line); err != nil {
			return fmt.Errorf("ueventstest: writing %q to dynamic_events: %w", line, err)
		}
	}
	return nil
}

func (k *Kernel) dynamicLine(line string) error {
	if len(line) > maxLine || strings.Contains(line, "\x00") {
		return errno.EINVAL
	}
	line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "#")
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "!") {
		return k.dynamicRemove(words(line))
	}
	command, ok := strings.CutPrefix(line, userPrefix)
	if !ok {
		if skipSpaces(line) == "" {
			return nil
		}
		return errno.EINVAL
	}
	e, err := k.findOrCreate(skipSpaces(command), backend.FlagPersist)
	if err != nil {
		return err
	}
	k.release(e)
	return nil
}

// dynamicRemove removes all events that a command names: "-:[SYSTEM/]NAME" or
// "!x:[SYSTEM/]NAME", then fields. What stands between ! and the colon is not looked at.
func (k *Kernel) dynamicRemove(argv []string) error {
	prefix, name, ok := strings.Cut(argv[0], ":")
	if !ok || prefix[0] == '-' && prefix != "-" {
		return errno.EINVAL
	}
	system, event, hasSystem := strings.Cut(name, "/")
	if !hasSystem {
		event = name
	}
	if !hasSystem && event == "" {
		return errno.EINVAL
	}
	if hasSystem && !k.hasSystem(system) {
		return errno.ENOENT
	}
	var err error = errno.ENOENT
	for _, e := range k.events() {
		if e.regName != event || !k.fieldsNamed(e, argv[1:]) {
			continue
		}
		if err = k.remove(e); err != nil {
			return err
		}
	}
	return err
}

// hasSystem reports whether a system is one of user events. The kernel does not look in
// which of them the event is.
func (k *Kernel) hasSystem(name string) bool {
	return name == tracepoint.System || k.page == nil && name == tracepoint.MultiSystem
}

func (k *Kernel) fieldsNamed(e *event, argv []string) bool {
	return k.page != nil && len(argv) == 0 || fieldsMatch(e.fields, argv)
}
