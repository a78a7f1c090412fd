package processcontext

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"
)

const (
	name       = "OTEL_CTX" // of the mapping; the header begins with it, too
	version    = 2
	headerSize = 32

	attempts   = 10                    // while the header changes
	firstPause = 50 * time.Microsecond // before the second attempt, and twice as long before each further one
)

var errChanging = errors.New("the process changes its context all the time")

// Read returns the resource that a process publishes, by its directory, such as /proc/812. Without a context the error wraps
// [fs.ErrNotExist], and without permission to attach to the process with ptrace it wraps [fs.ErrPermission]. A process can make its
// memory be anything: Read checks all of it, takes at most 64 KiB, and pauses for at most 30 ms for each of at most 8 mappings. But a
// process can make the kernel wait, as with pages of a file system of its own: a caller that must go on calls Read in another goroutine.
func Read(dir string) ([]Attribute, error) {
	root, err := os.OpenRoot(dir) // which stays that of this process
	if err != nil {
		return nil, err
	}
	defer root.Close()
	maps, err := root.Open("maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	list, err := find(maps)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: process context: %w", dir, fs.ErrNotExist)
	}
	memory, err := root.Open("mem")
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	for _, at := range list {
		var resource []Attribute
		if resource, err = readAt(memory, at); err == nil {
			return resource, nil
		}
	}
	return nil, fmt.Errorf("%s: process context: %w", dir, err)
}

// header is that of a context.
type header [headerSize]byte

func (h *header) payloadSize() uint32 { return binary.NativeEndian.Uint32(h[12:]) }
func (h *header) publishedAt() uint64 { return binary.NativeEndian.Uint64(h[16:]) }
func (h *header) payload() uint64     { return binary.NativeEndian.Uint64(h[24:]) }

// check returns an error if the header is not one, or not one of a version that this package knows.
func (h *header) check() error {
	if string(h[:8]) != name {
		return fmt.Errorf("the mapping begins with %q", h[:8])
	}
	if v := binary.NativeEndian.Uint32(h[8:]); v != version {
		return fmt.Errorf("the version is %d: %w", v, errors.ErrUnsupported)
	}
	return nil
}

// readAt reads the context whose header is at an address.
func readAt(memory io.ReaderAt, at uint64) ([]Attribute, error) {
	pause := firstPause
	for attempt := range attempts {
		if attempt > 0 {
			time.Sleep(pause)
			pause *= 2
		}
		var before, after header
		if err := readMemory(memory, before[:], at); err != nil {
			return nil, err
		}
		if err := before.check(); err != nil {
			return nil, err
		}
		if before.publishedAt() == 0 {
			continue
		}
		payload, payloadErr := readPayload(memory, &before)
		if err := readMemory(memory, after[:], at); err != nil {
			return nil, err
		}
		if before != after { // another payload is there, and the old one may be gone
			continue
		}
		if payloadErr != nil {
			return nil, payloadErr
		}
		return decode(payload)
	}
	return nil, errChanging
}

func readPayload(memory io.ReaderAt, h *header) ([]byte, error) {
	size := h.payloadSize()
	if size == 0 || size > maxPayload {
		return nil, fmt.Errorf("the payload has %d bytes; it can have 1 to %d", size, maxPayload)
	}
	payload := make([]byte, size)
	return payload, readMemory(memory, payload, h.payload())
}

func readMemory(memory io.ReaderAt, b []byte, at uint64) error {
	if at > math.MaxInt64 {
		return fmt.Errorf("nothing of the process can be at address %#x", at)
	}
	_, err := memory.ReadAt(b, int64(at))
	if err != nil {
		err = fmt.Errorf("address %#x: %w", at, err)
	}
	return err
}
