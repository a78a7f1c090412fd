package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/userevents/userevents-go/tracepoint"
)

// eventPath returns the directory of a user event, or a file in it.
func (t *FS) eventPath(name string, elem ...string) string {
	return t.Path(append([]string{"events", tracepoint.System, name}, elem...)...)
}

// Exists reports whether the kernel has the user event name. The error wraps
// [fs.ErrPermission] when this program may not look, and [fs.ErrNotExist] when this is no
// tracefs.
func (t *FS) Exists(name string) (bool, error) {
	events := t.Path("events")
	if ok, err := exists(events); err != nil {
		return false, err
	} else if !ok {
		return false, fmt.Errorf("%s: %w", events, fs.ErrNotExist)
	}
	return exists(t.eventPath(name))
}

// EnablePath returns the file that attaches ftrace to an event when 1 is written to it, and
// detaches it with 0.
func (t *FS) EnablePath(name string) string { return t.eventPath(name, "enable") }

// Enable attaches ftrace to the event, or detaches it. The records appear in trace and
// trace_pipe.
func (t *FS) Enable(name string, on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	if err := t.write(t.EnablePath(name), value); err != nil {
		return fmt.Errorf("enabling user event %s: %w", name, err)
	}
	return nil
}

// Format returns the event's format file, which tells tools where each field is.
func (t *FS) Format(name string) ([]byte, error) {
	b, err := os.ReadFile(t.eventPath(name, "format"))
	if err != nil {
		return nil, fmt.Errorf("reading the format of user event %s: %w", name, err)
	}
	return b, nil
}

// write writes to a control file, which must be there.
func (t *FS) write(file, value string) error {
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
