// Package processcontext publishes the resource attributes of this process to other programs, and reads those of other processes, as
// OpenTelemetry's process context. Publishing is a no-op on systems other than Linux.
//
// The format is that of OTEP 4719, whose message has the status Development (open-telemetry/opentelemetry-specification,
// oteps/profiles/4719-process-ctx.md, and open-telemetry/opentelemetry-proto,
// opentelemetry/proto/processcontext/v1development). A process has at most one context: a header of 32 bytes at the beginning of a
// mapping, in the byte order of the machine:
//
//	offset  size
//	     0     8  the text OTEL_CTX
//	     8     4  version, 2
//	    12     4  size of the payload in bytes
//	    16     8  CLOCK_BOOTTIME of the publication in nanoseconds; 0 while the header changes, and another one after each change
//	    24     8  address of the payload, anywhere in the process
//
// The payload is a protobuf message ProcessContext. Its field 1 is a Resource of OTLP, which is what this package writes and reads; field
// 2, more attributes for readers of profiles, is ignored.
//
// Readers find the mapping by its name in /proc/PID/maps. That is /memfd:OTEL_CTX if it is a private mapping of a file of
// memfd_create, [anon:OTEL_CTX] if it has no file and is named by prctl(PR_SET_VMA), and [anon_shmem:OTEL_CTX] if both is so. The
// children of fork do not inherit the mapping (MADV_DONTFORK). A reader takes the header, the payload, and the header
// again: the payload is complete if both headers are the same.
package processcontext

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
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

const (
	maxMaps       = 16 << 20 // bytes of /proc/PID/maps, of which the kernel's default number of mappings takes less than half
	maxCandidates = 8
)

// find returns where the mappings begin whose names in /proc/PID/maps are those of a context.
func find(maps io.Reader) (list []uint64, err error) {
	lines := bufio.NewScanner(io.LimitReader(maps, maxMaps))
	for lines.Scan() && len(list) < maxCandidates {
		if !bytes.Contains(lines.Bytes(), []byte(name)) {
			continue
		}
		if begin, ok := parseMapping(lines.Text()); ok {
			list = append(list, begin)
		}
	}
	return list, lines.Err()
}

// parseMapping parses a line of /proc/PID/maps, and reports whether the mapping has the name of a context:
//
//	7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX (deleted)
func parseMapping(line string) (begin uint64, ok bool) {
	const columns = 5 // before the name
	for i := range columns {
		column, rest, _ := strings.Cut(line, " ")
		if i == 0 {
			first, last, _ := strings.Cut(column, "-")
			var err, err2 error
			var end uint64
			begin, err = strconv.ParseUint(first, 16, 64)
			end, err2 = strconv.ParseUint(last, 16, 64)
			if err != nil || err2 != nil || end < begin || end-begin < headerSize {
				return 0, false
			}
		}
		line = strings.TrimLeft(rest, " ")
	}
	switch strings.TrimSuffix(line, " (deleted)") {
	case "/memfd:" + name, "[anon:" + name + "]", "[anon_shmem:" + name + "]":
		return begin, true
	}
	return 0, false
}
