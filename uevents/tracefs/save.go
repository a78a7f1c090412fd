package tracefs

import (
	"errors"
	"fmt"
	"io"

	"github.com/userevents/userevents-go/tracepoint"
)

// Save writes the events of the machine as [FS.Restore] reads them: the user event lines of
// dynamic_events, as the kernel words them. Events in [tracepoint.MultiSystem] are left out:
// only a program can register them, and the kernel gives them another name every time.
func (t *FS) Save(w io.Writer) error {
	list, err := t.commands()
	if err != nil {
		return fmt.Errorf("saving user events: %w", err)
	}
	if list, err = t.single(list); err != nil {
		return fmt.Errorf("saving user events: %w", err)
	}
	for _, c := range list {
		if _, err := fmt.Fprintf(w, "%s%s\n", userPrefix, c); err != nil {
			return fmt.Errorf("saving user events: %w", err)
		}
	}
	return nil
}

// Restore makes every event of a saved listing, as persistent events; see [FS.Create]. It
// goes on after an event that cannot be made and returns all errors. What the kernel accepts
// is restored, also events whose names and fields this library would not register.
func (t *FS) Restore(r io.Reader) error {
	list, err := parseCommands(r)
	errs := []error{err}
	var created []command
	for _, c := range list {
		if err := t.create(c); err != nil {
			errs = append(errs, err)
			continue
		}
		created = append(created, c)
	}
	return errors.Join(append(errs, t.check(created...))...)
}

// single leaves out the events of [tracepoint.MultiSystem]. dynamic_events shows them under
// the name that they were registered with, under which there is no tracepoint, or one with
// other fields.
func (t *FS) single(list []command) ([]command, error) {
	formats := make(map[string]int, len(list))
	for _, c := range list {
		formats[c.name()]++
	}
	var single []command
	for _, c := range list {
		is, err := exists(t.eventPath(c.name()))
		if is && formats[c.name()] > 1 {
			is, err = t.hasFields(c)
		}
		if err != nil {
			return nil, err
		}
		if is {
			single = append(single, c)
		}
	}
	return single, nil
}

// hasFields reports whether the tracepoint of the command's name has its fields.
func (t *FS) hasFields(c command) (bool, error) {
	text, err := t.Format(c.name())
	if err != nil {
		return false, err
	}
	format, err := tracepoint.ParseFormat(string(text))
	if err != nil {
		return false, fmt.Errorf("user event %s: %w", c.name(), err)
	}
	d, err := format.Declaration()
	if err != nil {
		return false, fmt.Errorf("user event %s: %w", c.name(), err)
	}
	return command(d.String()) == c.canonical(), nil
}
