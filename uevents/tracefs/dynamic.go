package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/userevents/userevents-go/tracepoint"
)

// userPrefix marks user events among the other kinds in dynamic_events.
const userPrefix = "u:"

// Declarations lists the user events of the machine with their fields. An event whose name
// or fields this library would not have accepted is listed as far as it was understood.
func (t *FS) Declarations() ([]tracepoint.Declaration, error) {
	f, err := os.Open(t.Path(dynamicEvents))
	if err != nil {
		return nil, fmt.Errorf("listing user events: %w", err)
	}
	defer f.Close()
	decls, err := ParseDynamicEvents(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return decls, nil
}

// ParseDynamicEvents parses the user events in the format of dynamic_events. Lines of other
// kinds of events, comments and blank lines are skipped. The comment that
// user_events_status adds to a name (# Used by ...) is allowed, so that a listing can be
// edited by hand.
func ParseDynamicEvents(r io.Reader) ([]tracepoint.Declaration, error) {
	var decls []tracepoint.Declaration
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		line, _, _ := strings.Cut(sc.Text(), "#")
		command, ok := strings.CutPrefix(strings.TrimSpace(line), userPrefix)
		if !ok {
			continue
		}
		// The kernel holds events of any origin, and some of them would not pass as ours.
		d, _ := tracepoint.Parse(command)
		decls = append(decls, d)
	}
	return decls, sc.Err()
}

// Create makes a persistent event: it stays until [FS.Remove] or a reboot, whether or not a
// program registers it. Tools that refuse to attach to what does not exist yet can then be
// started before the program. It takes CAP_PERFMON. Creating an event that is there with
// the same fields is no error; with other fields the error wraps EADDRINUSE.
func (t *FS) Create(d tracepoint.Declaration) error {
	if err := d.Validate(); err != nil {
		return err
	}
	return t.dynamic("creating", d.Name, userPrefix+d.String())
}

// Remove deletes an event. The error wraps EBUSY while a program has it registered or a
// tracer is attached, and [fs.ErrNotExist] when there is none.
func (t *FS) Remove(name string) error {
	decls, err := t.Declarations()
	if err != nil {
		return err
	}
	for _, d := range decls {
		if d.Name == name {
			// From Linux 6.4 on the kernel looks for the name with these very fields.
			return t.dynamic("removing", name, "-:"+tracepoint.System+"/"+d.String())
		}
	}
	return fmt.Errorf("removing user event %s: %w", name, fs.ErrNotExist)
}

// dynamic appends a command to dynamic_events. A plain open for writing would truncate the
// file, which deletes every dynamic event of the machine.
func (t *FS) dynamic(what, name, command string) error {
	f, err := os.OpenFile(t.Path(dynamicEvents), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("%s user event %s: %w", what, name, err)
	}
	_, err = f.WriteString(command + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s user event %s: %w", what, name, err)
	}
	return nil
}

// Save writes the events of the machine as [FS.Restore] reads them: the user event lines of
// dynamic_events.
func (t *FS) Save(w io.Writer) error {
	decls, err := t.Declarations()
	if err != nil {
		return err
	}
	for _, d := range decls {
		if _, err := fmt.Fprintf(w, "%s%s\n", userPrefix, d); err != nil {
			return fmt.Errorf("saving user events: %w", err)
		}
	}
	return nil
}

// Restore makes every event of a saved listing, as persistent events. It goes on after an
// event that cannot be made and returns all errors.
func (t *FS) Restore(r io.Reader) error {
	decls, err := ParseDynamicEvents(r)
	errs := []error{err}
	for _, d := range decls {
		errs = append(errs, t.Create(d))
	}
	return errors.Join(errs...)
}

// Exists reports whether the kernel has the user event name, as far as this program may
// look.
func (t *FS) Exists(name string) (bool, error) {
	if ok, err := exists(t.Path("events")); err != nil || !ok {
		return false, errors.Join(err, fmt.Errorf("%s: %w", t.Path("events"), fs.ErrNotExist))
	}
	return exists(t.eventPath(name))
}
