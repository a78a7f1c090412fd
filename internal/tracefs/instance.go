package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// Instance is a set of ftrace's ring buffers, one for each CPU, with events, filters and triggers of its own. The
// top-level instance is the one that all tools share; tools that must not disturb others make their own. Its
// methods may be called concurrently. An instance stays after the program that made it, until [Instance.Remove].
type Instance struct {
	path string
	name string // "" for the top-level one
}

// Top returns the top-level instance.
func (d *Dir) Top() *Instance { return &Instance{path: d.path} }

// NewInstance makes an instance without enabled events. The error wraps [fs.ErrExist] if there is one of
// this name, and EINVAL if the name cannot be that of a directory.
func (d *Dir) NewInstance(name string) (*Instance, error) {
	i, err := d.instance(name)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(i.path, 0o750); err != nil {
		return nil, fmt.Errorf("making trace instance %s: %w", name, err)
	}
	return i, nil
}

// Instance returns the instance called name, which must exist: else the error wraps [fs.ErrNotExist].
func (d *Dir) Instance(name string) (*Instance, error) {
	i, err := d.instance(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(i.path); err != nil {
		return nil, fmt.Errorf("trace instance %s: %w", name, err)
	}
	return i, nil
}

// Instances lists the names of all instances but the top-level one.
func (d *Dir) Instances() ([]string, error) {
	list, err := os.ReadDir(d.Path("instances"))
	if err != nil {
		return nil, fmt.Errorf("listing trace instances: %w", err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names, nil
}

func (d *Dir) instance(name string) (*Instance, error) {
	if err := checkElement(name); err != nil {
		return nil, fmt.Errorf("trace instance: %w", err)
	}
	return &Instance{path: d.Path("instances", name), name: name}, nil
}

// Name returns the instance's name, "" for the top-level one.
func (i *Instance) Name() string { return i.name }

// Path returns the path of a file of the instance; without elements, that of its directory.
func (i *Instance) Path(elem ...string) string {
	return path.Join(append([]string{i.path}, elem...)...)
}

// Remove removes the instance, with what it recorded; its events become disabled in it. The error wraps
// EBUSY while a program reads from it. The top-level instance cannot be removed.
func (i *Instance) Remove() error {
	if i.name == "" {
		return fmt.Errorf("removing the top-level trace instance: %w", errors.ErrUnsupported)
	}
	if err := os.Remove(i.path); errors.Is(err, errno.EBUSY) {
		return fmt.Errorf("removing trace instance %s: %w (end the programs that read its files)", i.name, err)
	} else if err != nil {
		return fmt.Errorf("removing trace instance %s: %w", i.name, err)
	}
	return nil
}

// SetBufferSize sets the size of each CPU's ring buffer, in KiB. The kernel rounds it up to whole
// pages, two at least.
func (i *Instance) SetBufferSize(kib int) error {
	return i.write("buffer_size_kb", strconv.Itoa(kib))
}

// Text returns what was recorded as lines of text, oldest first, after a header of lines that begin with #, and leaves
// the records in the buffers. Before Linux 6.4 the kernel prints user events as a hex dump, without their names.
func (i *Instance) Text() (string, error) { return i.readFile("trace") }

// BufferStats counts records in the ring buffers of an instance.
type BufferStats struct {
	Entries       uint64 // records in the buffers
	Overrun       uint64 // lost: overwritten by newer ones before they were read
	CommitOverrun uint64 // lost: came while the buffer's last page was still being written
	Dropped       uint64 // lost: refused because the buffer was full, in the mode that does not overwrite
	Read          uint64 // consumed by readers
}

// BufferStats returns the counts of all CPUs together.
func (i *Instance) BufferStats() (BufferStats, error) {
	var s BufferStats
	counts := map[string]*uint64{
		"entries": &s.Entries, "overrun": &s.Overrun, "commit overrun": &s.CommitOverrun,
		"dropped events": &s.Dropped, "read events": &s.Read,
	}
	// Not by a pattern: the instance's name may have characters that are special there.
	cpus, err := os.ReadDir(i.Path("per_cpu"))
	if err != nil {
		return s, fmt.Errorf("counts of %s: %w", i, err)
	}
	for _, cpu := range cpus {
		file := i.Path("per_cpu", cpu.Name(), "stats")
		b, err := os.ReadFile(file)
		if err != nil {
			return s, fmt.Errorf("counts of %s: %w", i, err)
		}
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if dst := counts[key]; dst != nil {
				n, err := strconv.ParseUint(value, 10, 64)
				if err != nil {
					return s, fmt.Errorf("counts of %s: %s: %w", i, file, err)
				}
				*dst += n
			}
		}
	}
	return s, nil
}

// String names the instance in errors.
func (i *Instance) String() string {
	if i.name == "" {
		return "top-level trace instance"
	}
	return "trace instance " + i.name
}

func (i *Instance) readFile(file string) (string, error) {
	b, err := os.ReadFile(i.Path(file))
	if err != nil {
		return "", fmt.Errorf("reading %s of %s: %w", file, i, err)
	}
	return string(b), nil
}

func (i *Instance) write(file, value string) error {
	if err := writeFile(i.Path(file), value); err != nil {
		return fmt.Errorf("setting %s of %s to %q: %w", file, i, value, err)
	}
	return nil
}
