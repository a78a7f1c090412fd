package processcontext

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/userevents/userevents-go/internal/sys"
)

// errPublished: readers would find either of two contexts.
var errPublished = errors.New("the process has a process context already, which may be that of another library")

// Context is the resource that this process publishes, until Close. It may be used concurrently. The memory is the kernel's, so that a
// Context that is not used any more stays published.
type Context struct {
	mu      sync.Mutex
	mapping []byte // of the header; nil if nothing is published
	payload []byte
}

// publishing keeps concurrent calls of Publish apart.
var publishing sync.Mutex

// Publish publishes a resource to those who may read the memory of the process. The Context is never nil. An error says that the resource
// has more than 64 KiB, that the process has a context, or what the kernel refuses; the Context then is as after Close.
func Publish(resource []Attribute) (*Context, error) {
	publishing.Lock()
	defer publishing.Unlock()
	if published() {
		return new(Context), errPublished
	}
	mapping, fileErr, err := mapHeader()
	if err != nil {
		return new(Context), err
	}
	c := &Context{mapping: mapping}
	nameErr, err := c.set(resource)
	if err == nil && fileErr != nil && nameErr != nil {
		err = fmt.Errorf("no reader can find a process context without a name: %w; %w", fileErr, nameErr)
	}
	if err != nil {
		err = errors.Join(err, c.Close())
	}
	return c, err
}

// published reports whether the process has a context, of whatever library.
func published() bool {
	maps, err := sys.Open("/proc/self/maps")
	if err != nil {
		return false
	}
	defer maps.Close()
	list, _ := find(maps)
	return len(list) > 0
}

// mapHeader maps memory for a header. The name of its file is that of the mapping; fileErr is why it has no file.
func mapHeader() (mapping []byte, fileErr, err error) {
	fd := -1
	if limit, limitErr := sys.FileSizeLimit(); limitErr == nil && limit < headerSize { // the kernel would send a signal
		fileErr = fmt.Errorf("RLIMIT_FSIZE is %d bytes", limit)
	} else if fd, fileErr = sys.CreateMemory(name, headerSize, 0); fileErr == nil {
		defer func() { err = errors.Join(err, sys.Close(fd)) }()
	}
	if mapping, err = sys.MapPrivate(fd, headerSize); err != nil {
		return nil, fileErr, err
	}
	if err := sys.DontFork(mapping); err != nil {
		return nil, fileErr, errors.Join(err, sys.UnmapBytes(mapping))
	}
	h := layoutAt(mapping)
	copy(h.signature[:], name)
	h.version = version
	return mapping, fileErr, nil
}

// Update publishes another resource instead. After an error the one before is published. The error after Close wraps [os.ErrClosed].
func (c *Context) Update(resource []Attribute) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mapping == nil {
		return fmt.Errorf("process context: %w", os.ErrClosed)
	}
	_, err := c.set(resource)
	return err
}

// set publishes a resource. nameErr is why the mapping has no name but that of its file.
func (c *Context) set(resource []Attribute) (nameErr, err error) {
	encoded, err := encode(resource)
	if err != nil {
		return nil, err
	}
	now, err := sys.BootTime()
	if err != nil {
		return nil, err
	}
	payload, err := sys.MapPrivate(-1, len(encoded))
	if err != nil {
		return nil, err
	}
	copy(payload, encoded)
	before := c.payload
	c.payload = payload
	layoutAt(c.mapping).set(payload, now)
	// Tools watch this call to learn of contexts and their changes, also on kernels that refuse it.
	nameErr = sys.NameMapping(c.mapping, name)
	return nameErr, unmap(before)
}

// Close ends the publication. Further calls do nothing.
func (c *Context) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errors.Join(unmap(c.mapping), unmap(c.payload))
	c.mapping, c.payload = nil, nil
	return err
}

func unmap(b []byte) error {
	if b == nil {
		return nil
	}
	return sys.UnmapBytes(b)
}
