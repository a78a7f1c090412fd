package tracefs

import (
	"errors"
	"fmt"
	"io"
)

// Save writes the events of the machine as [Dir.Restore] reads them: the user event lines of
// dynamic_events, as the kernel words them. Events in the system user_events_multi are not saved:
// only a program can register them, and the kernel gives them another name every time.
func (d *Dir) Save(w io.Writer) error {
	list, err := d.commands()
	if err != nil {
		return fmt.Errorf("saving user events: %w", err)
	}
	if list, err = d.single(list); err != nil {
		return fmt.Errorf("saving user events: %w", err)
	}
	for _, c := range list {
		if _, err := fmt.Fprintf(w, "%s%s\n", userPrefix, c); err != nil {
			return fmt.Errorf("saving user events: %w", err)
		}
	}
	return nil
}

// Restore makes every event of a saved listing, as persistent events; see [Dir.Create]. It
// goes on after an event that cannot be made and returns all errors. Every event that the kernel accepts
// is restored, also those whose names and fields this library would not register.
func (d *Dir) Restore(r io.Reader) error {
	list, err := parseCommands(r)
	return errors.Join(err, d.create(list...))
}

// single omits the events of the system user_events_multi. dynamic_events shows them under
// the name that they were registered with, under which there is no tracepoint, or one with
// other fields.
func (d *Dir) single(list []command) ([]command, error) {
	formats := make(map[string]int, len(list))
	for _, c := range list {
		formats[c.name()]++
	}
	var single []command
	for _, c := range list {
		is, err := exists(d.Event(c.name()).Path())
		if is && formats[c.name()] > 1 {
			is, err = d.hasFields(c)
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
func (d *Dir) hasFields(c command) (bool, error) {
	format, err := d.Event(c.name()).Format()
	if err != nil {
		return false, err
	}
	decl, err := format.Declaration()
	if err != nil {
		return false, fmt.Errorf("user event %s: %w", c.name(), err)
	}
	return command(decl.String()) == c.canonical(), nil
}
