package tracefs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Declarations lists the user events of the machine with their fields. An event whose name
// or fields this library would not have accepted is listed as far as it was understood.
// Events in [tracepoint.MultiSystem] are listed by the name that they were registered with,
// which several of them may share.
func (d *Dir) Declarations() ([]tracepoint.Declaration, error) {
	list, err := d.commands()
	if err != nil {
		return nil, fmt.Errorf("listing user events: %w", err)
	}
	return declarations(list), nil
}

// ParseDynamicEvents parses the user events in the format of dynamic_events. Lines of other
// kinds of events, comments and blank lines are skipped. The comment that
// user_events_status adds to a name (# Used by ...) is allowed, so that a listing can be
// edited by hand.
func ParseDynamicEvents(r io.Reader) ([]tracepoint.Declaration, error) {
	list, err := parseCommands(r)
	return declarations(list), err
}

func declarations(list []command) []tracepoint.Declaration {
	var decls []tracepoint.Declaration
	for _, c := range list {
		// Other programs register what Parse refuses; it then returns the part that it understood.
		decl, _ := tracepoint.Parse(string(c))
		decls = append(decls, decl)
	}
	return decls
}

// Create makes a persistent event: it stays until [Dir.Remove] or a reboot, whether or not a
// program registers it. Tools that refuse to attach to what does not exist yet can then be
// started before the program. It takes CAP_PERFMON. Creating an event that is there with
// the same fields is no error; with other fields the error wraps EADDRINUSE.
func (d *Dir) Create(decl tracepoint.Declaration) error {
	if err := decl.Validate(); err != nil {
		return err
	}
	c := command(decl.String())
	if err := d.create(c); err != nil {
		return err
	}
	return d.check(c)
}

// Remove deletes an event, in all the formats that its name has. The error wraps EBUSY while
// a program has it registered or a tracing tool is attached, and for a moment after that, and [fs.ErrNotExist] when
// there is no such event.
func (d *Dir) Remove(name string) error {
	list, err := d.commands()
	if err != nil {
		return fmt.Errorf("removing user event %s: %w", name, err)
	}
	found := false
	var errs []error
	for _, c := range list {
		if c.name() == name {
			found = true
			// From Linux 6.4 on the kernel looks for the name with these very fields.
			err := d.dynamic("removing", name, "-:"+tracepoint.System+"/"+string(c))
			if errors.Is(err, errno.EBUSY) {
				err = fmt.Errorf("%w (detach the tools, and end the programs that registered it)", err)
			}
			errs = append(errs, err)
		}
	}
	if !found {
		return fmt.Errorf("removing user event %s: %w", name, fs.ErrNotExist)
	}
	return errors.Join(errs...)
}

// commands lists the user events as the kernel words them.
func (d *Dir) commands() ([]command, error) {
	f, err := os.Open(d.Path(dynamicEvents))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := parseCommands(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return list, nil
}

func (d *Dir) create(c command) error {
	return d.dynamic("creating", c.name(), userPrefix+string(c))
}

// check finds out whether events were created: see [conflicts].
func (d *Dir) check(created ...command) error {
	list, err := d.commands()
	if err != nil {
		return fmt.Errorf("looking for the user events created: %w", err)
	}
	return conflicts(list, created)
}

// dynamic appends a command to dynamic_events. A plain open for writing would truncate the
// file, which deletes every dynamic event of the machine.
func (d *Dir) dynamic(what, name, command string) error {
	f, err := os.OpenFile(d.Path(dynamicEvents), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("%s user event %s: %w", what, name, err)
	}
	_, err = f.WriteString(command + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s user event %s: %w", what, name, err)
	}
	return nil
}
