package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// userPrefix marks user events among the other kinds in dynamic_events.
const userPrefix = "u:"

// command is a line of dynamic_events after userPrefix: a name, and fields if there are any.
type command string

func (c command) name() string {
	name, _, _ := strings.Cut(string(c), " ")
	return name
}

// canonical returns the command as the kernel lists it, whatever white space it has.
func (c command) canonical() command {
	return command(strings.Join(strings.Fields(strings.ReplaceAll(string(c), ";", "; ")), " "))
}

func parseCommands(r io.Reader) ([]command, error) {
	var list []command
	sc := bufio.NewScanner(r)
	n := 1
	for ; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		c, ok := strings.CutPrefix(strings.TrimSpace(line), userPrefix)
		if c = strings.TrimSpace(c); ok && c != "" {
			list = append(list, command(c))
		}
	}
	if err := sc.Err(); err != nil {
		return list, fmt.Errorf("reading line %d of user events: %w", n, err)
	}
	return list, nil
}

// Declarations lists the user events of the machine with their fields. An event whose name or fields this library would
// not have accepted is listed as far as it was understood. Events in [tracepoint.MultiSystem] are listed by the name that
// they were registered with, which several of them may share.
func (d *Dir) Declarations() ([]tracepoint.Declaration, error) {
	list, err := d.commands()
	if err != nil {
		return nil, fmt.Errorf("listing user events: %w", err)
	}
	return declarations(list), nil
}

// ParseDynamicEvents parses the user events in the format of dynamic_events. Lines of other kinds of events, comments and
// blank lines are skipped. The comment that user_events_status adds to a name (# Used by ...) is allowed, so that a
// listing can be edited by hand.
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

// Create makes a persistent event: it stays until [Dir.Remove] or a reboot, whether or not a program registers it. Tools
// that refuse to attach to what does not exist yet can then be started before the program. It takes CAP_PERFMON. Creating
// an event that is there with the same fields is no error; with other fields the error wraps EADDRINUSE.
func (d *Dir) Create(decl tracepoint.Declaration) error {
	if err := decl.Validate(); err != nil {
		return err
	}
	return d.create(command(decl.String()))
}

// create makes persistent events. It goes on after one that cannot be made.
func (d *Dir) create(list ...command) error {
	var errs []error
	var created []command
	for _, c := range list {
		if err := d.dynamic("creating", c.name(), userPrefix+string(c)); err != nil {
			errs = append(errs, err)
			continue
		}
		created = append(created, c)
	}
	if len(created) == 0 {
		return errors.Join(errs...)
	}
	have, err := d.commands()
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("looking for the user events created: %w", err))...)
	}
	return errors.Join(append(errs, conflicts(have, created))...)
}

// conflicts returns an error for each created event that the kernel has with other fields. Kernels before 6.4 accept a
// name that they have, whatever its fields, and keep those they have.
func conflicts(list, created []command) error {
	is := make(map[command]bool, len(list))
	for _, c := range list {
		is[c.canonical()] = true
	}
	var errs []error
	for _, c := range created {
		if is[c.canonical()] {
			continue
		}
		// One that is not listed at all was removed by another program since.
		if i := slices.IndexFunc(list, func(have command) bool { return have.name() == c.name() }); i >= 0 {
			errs = append(errs, fmt.Errorf("creating user event %q: there is %q: %w", c, list[i], errno.EADDRINUSE))
		}
	}
	return errors.Join(errs...)
}

// Remove deletes an event, in all the formats that its name has. The error wraps EBUSY while a program has it registered
// or a tracing tool is attached, and for a moment after that, and [fs.ErrNotExist] when there is no such event.
func (d *Dir) Remove(name string) error {
	list, err := d.commands()
	if err != nil {
		return fmt.Errorf("removing user event %s: %w", name, err)
	}
	list = slices.DeleteFunc(list, func(c command) bool { return c.name() != name })
	if len(list) == 0 {
		return fmt.Errorf("removing user event %s: %w", name, fs.ErrNotExist)
	}
	var errs []error
	for _, c := range list {
		// From Linux 6.4 on the kernel looks for the name with these very fields.
		err := d.dynamic("removing", name, "-:"+tracepoint.System+"/"+string(c))
		if errors.Is(err, errno.EBUSY) {
			err = fmt.Errorf("%w (detach the tools, and end the programs that registered it)", err)
		}
		errs = append(errs, err)
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

// dynamic appends a command to dynamic_events. A plain open for writing would truncate the file, which deletes every
// dynamic event of the machine.
func (d *Dir) dynamic(what, name, command string) error {
	f, err := os.OpenFile(d.Path(dynamicEvents), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(command + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s user event %s: %w", what, name, err)
	}
	return nil
}

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
