package abi

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
)

// statusPage is the page of user_events_status that the kernels before 6.4 update. There is
// one per system, so a process maps it once and keeps it.
type statusPage struct {
	abi  backend.ABI
	page []byte
}

// StatusError says that user_events_status cannot be used, without which kernels before 6.4
// do not tell which events are enabled.
type StatusError struct {
	Path string // that was tried first
	Err  error
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("kernels before 6.4 tell who traces through %s, which must be readable: %v", tracefs.StatusFile, e.Err)
}

// Unwrap returns Err.
func (e *StatusError) Unwrap() error { return e.Err }

var mappedStatus struct {
	mu   sync.Mutex
	page *statusPage // nil until mapped
}

// openStatus maps the status page. It tries the files in turn, and remembers success only.
// Its errors are [*StatusError].
func openStatus(dataFile string) (*statusPage, error) {
	mappedStatus.mu.Lock()
	defer mappedStatus.mu.Unlock()
	if mappedStatus.page != nil {
		return mappedStatus.page, nil
	}
	candidates := []string{tracefs.DefaultDir + "/" + tracefs.StatusFile}
	if dataFile != "" {
		candidates = append([]string{filepath.Join(filepath.Dir(dataFile), tracefs.StatusFile)}, candidates...)
	}
	var first error
	for _, path := range candidates {
		p, err := mapStatus(path)
		if err == nil {
			mappedStatus.page = p
			return p, nil
		}
		if first == nil {
			first = &StatusError{Path: path, Err: err}
		}
	}
	return nil, first
}

func mapStatus(path string) (*statusPage, error) {
	abi, err := statusGeneration(path)
	if err != nil {
		return nil, err
	}
	f, err := sys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	page, err := sys.MapReadOnly(int(f.Fd()), os.Getpagesize())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &statusPage{abi: abi, page: page}, nil
}

// statusGeneration tells bytes from bits by the number of events that a page has room for.
func statusGeneration(path string) (backend.ABI, error) {
	f, err := sys.Open(path)
	if err != nil {
		return backend.Unknown, err
	}
	defer f.Close()
	status, err := tracefs.ParseStatus(f)
	if err != nil {
		return backend.Unknown, fmt.Errorf("%s: %w", path, err)
	}
	switch status.Max {
	case os.Getpagesize():
		return backend.StatusByte, nil
	case os.Getpagesize() * 8:
		return backend.StatusBit, nil
	}
	return backend.Unknown, fmt.Errorf("%s: %q says neither status bytes nor status bits", path, "Max: "+strconv.Itoa(status.Max))
}

// locate returns the native word of the page, and the mask in it, that hold an event's status.
func (s *statusPage) locate(status uint32) (word *atomic.Uintptr, mask uintptr, err error) {
	index, bits := uint64(status), uintptr(0xff)
	if s.abi == backend.StatusBit {
		index, bits = uint64(status/8), 1<<(status%8)
	}
	if index >= uint64(len(s.page)) {
		return nil, 0, fmt.Errorf("status index %d is outside of the status page", status)
	}
	inWord := int(index) % wordSize
	return words.At(s.page, int(index)-inWord), byteMask(hostBigEndian, inWord, bits), nil
}

var hostBigEndian = order.Uint16([]byte{0, 1}) == 1

// byteMask returns the mask that selects bits of one of the bytes of a native word.
func byteMask(bigEndian bool, byteIndex int, bits uintptr) uintptr {
	if bigEndian {
		byteIndex = wordSize - 1 - byteIndex
	}
	return bits << (8 * byteIndex)
}
