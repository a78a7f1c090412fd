package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Event is a tracepoint as an [Instance] sees it: instances share tracepoints and formats, and each has
// its own enable state, filter and triggers. Its methods may be called concurrently; they need
// the permission for the file concerned, by default root's. Errors of all methods wrap [fs.ErrNotExist]
// when there is no such tracepoint.
type Event struct {
	instance     *Instance
	system, name string
}

// Event returns the tracepoint called name, as the top-level instance sees it: see [Instance.Event].
func (d *Dir) Event(name string) *Event { return d.Top().Event(name) }

// Event returns the tracepoint called name in the system user_events, or "SYSTEM:NAME", such as
// "user_events_multi:myapp_request.0" or "sched:sched_switch". It does not look whether the tracepoint exists.
func (i *Instance) Event(name string) *Event {
	system, own, qualified := strings.Cut(name, ":")
	if !qualified {
		system, own = tracepoint.System, name
	}
	return &Event{instance: i, system: system, name: own}
}

// String returns "SYSTEM:NAME", which perf and trace-cmd accept.
func (e *Event) String() string { return e.system + ":" + e.name }

// System returns the tracepoint's system.
func (e *Event) System() string { return e.system }

// Name returns the tracepoint's name inside of its system.
func (e *Event) Name() string { return e.name }

// Path returns the path of a file of the tracepoint, such as "enable" or "filter"; without elements, that of its
// directory.
func (e *Event) Path(elem ...string) string {
	return e.instance.Path(append([]string{"events", e.system, e.name}, elem...)...)
}

// Exists reports whether the kernel has the tracepoint. The error wraps [fs.ErrPermission] when this
// program may not look, and [fs.ErrNotExist] when the directory is no tracefs.
func (e *Event) Exists() (bool, error) {
	if err := e.check(); err != nil {
		return false, err
	}
	events := e.instance.Path("events")
	if ok, err := exists(events); err != nil {
		return false, fmt.Errorf("looking for event %s: %w", e, err)
	} else if !ok {
		return false, fmt.Errorf("looking for event %s: %s: %w (is tracefs mounted there?)", e, events, fs.ErrNotExist)
	}
	return exists(e.Path())
}

// Enable enables the event: the instance records it from then on.
func (e *Event) Enable() error { return e.write("enabling", "enable", "1") }

// Disable disables the event in this instance. Other instances and perf may still record it. Disabling
// an event that is not enabled is no error.
func (e *Event) Disable() error { return e.write("disabling", "enable", "0") }

// Enabled reports whether the event is enabled in this instance. A trigger alone does not
// count.
func (e *Event) Enabled() (bool, error) {
	state, err := e.read("enable")
	// 1* and 0* are those of an event that has triggers, too.
	return strings.HasPrefix(state, "1"), err
}

// ID returns the number that identifies the event's records, as common_type in ftrace's and as
// the config of a perf event of the type tracepoint. Once the event is gone, the kernel reuses it.
func (e *Event) ID() (int, error) {
	text, err := e.read("id")
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", e.Path("id"), err)
	}
	return int(id), nil
}

// Format returns where each field of the event's records is.
func (e *Event) Format() (tracepoint.Format, error) {
	text, err := e.FormatText()
	if err != nil {
		return tracepoint.Format{}, err
	}
	f, err := tracepoint.ParseFormat(text)
	if err != nil {
		return f, fmt.Errorf("event %s: %w", e, err)
	}
	return f, nil
}

// FormatText returns the content of the format file, which also has the print format.
func (e *Event) FormatText() (string, error) { return e.read("format") }

// check refuses names that would lead to another file.
func (e *Event) check() error {
	for _, s := range []string{e.system, e.name} {
		if err := checkElement(s); err != nil {
			return fmt.Errorf("event %q: %w", e.String(), err)
		}
	}
	return nil
}

func checkElement(s string) error {
	if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\x00") {
		return fmt.Errorf("%q is no name in tracefs: %w", s, errno.EINVAL)
	}
	return nil
}

func (e *Event) read(file string) (string, error) {
	if err := e.check(); err != nil {
		return "", err
	}
	b, err := os.ReadFile(e.Path(file))
	if err != nil {
		return "", fmt.Errorf("reading %s of event %s: %w", file, e, e.remedied(err))
	}
	return string(b), nil
}

func (e *Event) write(doing, file, value string) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := writeFile(e.Path(file), value); err != nil {
		return fmt.Errorf("%s event %s: %w", doing, e, e.remedied(err))
	}
	return nil
}

// remedied adds what to do about an error of one of the event's files.
func (e *Event) remedied(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.system == tracepoint.System:
		return fmt.Errorf("%w (start a program that registers it, or create it with Dir.Create)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (the files of tracefs belong to root by default)", err)
	}
	return err
}

// writeFile writes to a control file, which must be there.
func writeFile(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// exists reports whether a file is there, as far as that can be told: an error other than
// [fs.ErrNotExist] is returned.
func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
