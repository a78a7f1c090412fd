package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path"

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
