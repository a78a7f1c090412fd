package kerneltest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Record is one record of a tracer.
type Record struct {
	Event   string
	CPU     int
	Time    uint64 // ns
	PID     int32  // of the thread that wrote it
	Payload []byte // with up to 7 bytes of padding at the end
}

var instances atomic.Uint32

// Instance is a trace instance of ftrace: a ring buffer of its own. It is removed with the
// test.
type Instance struct {
	tb   testing.TB
	dir  string
	ids  map[uint16]string
	raw  []int // descriptors of trace_pipe_raw, by CPU
	page []byte
}

// NewInstance makes an instance with kb KiB of buffer for each CPU.
func NewInstance(tb testing.TB, fs *tracefs.FS, kb int) *Instance {
	tb.Helper()
	dir := fs.Path("instances", fmt.Sprintf("uetest-%d-%d", os.Getpid(), instances.Add(1)))
	require.NoError(tb, os.Mkdir(dir, 0o750))
	i := &Instance{tb: tb, dir: dir, ids: map[uint16]string{}, page: make([]byte, os.Getpagesize())}
	tb.Cleanup(i.remove)
	i.Write("buffer_size_kb", strconv.Itoa(kb))
	files, err := filepath.Glob(filepath.Join(dir, "per_cpu", "cpu*", "trace_pipe_raw"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for n := range files {
		fd, err := sys.OpenNonblocking(filepath.Join(dir, "per_cpu", fmt.Sprintf("cpu%d", n), "trace_pipe_raw"))
		require.NoError(tb, err)
		i.raw = append(i.raw, fd)
	}
	return i
}

func (i *Instance) remove() {
	i.Detach()
	for _, fd := range i.raw {
		if err := sys.Close(fd); err != nil {
			i.tb.Errorf("closing trace_pipe_raw: %v", err)
		}
	}
	if err := os.Remove(i.dir); err != nil {
		i.tb.Errorf("removing the trace instance: %v", err)
	}
}

// Write writes to a control file of the instance.
func (i *Instance) Write(file, value string) {
	i.tb.Helper()
	require.NoError(i.tb, i.TryWrite(file, value))
}

// TryWrite is Write for what the kernel may refuse.
func (i *Instance) TryWrite(file, value string) error {
	return os.WriteFile(filepath.Join(i.dir, file), []byte(value), 0)
}

// Read reads a file of the instance.
func (i *Instance) Read(file string) string {
	i.tb.Helper()
	b, err := os.ReadFile(filepath.Join(i.dir, file))
	require.NoError(i.tb, err)
	return string(b)
}

// Attach enables events.
func (i *Instance) Attach(names ...string) {
	i.tb.Helper()
	for _, name := range names {
		i.AttachIn("user_events", name)
	}
}

// AttachIn enables an event of any system.
func (i *Instance) AttachIn(system, name string) {
	i.tb.Helper()
	dir := "events/" + system + "/" + name
	id, err := strconv.ParseUint(strings.TrimSpace(i.Read(dir+"/id")), 10, 16)
	require.NoError(i.tb, err)
	i.ids[uint16(id)] = name
	i.Write(dir+"/enable", "1")
}

// Detach disables the events.
func (i *Instance) Detach(names ...string) {
	for _, name := range i.ids {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(i.dir, "events", "user_events*", name, "enable"))
		for _, f := range files {
			err := os.WriteFile(f, []byte("0"), 0)
			// An event that nobody holds any more is going away.
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
				i.tb.Errorf("detaching: %v", err)
			}
		}
	}
}

// Stats sums a line of per_cpu/cpu*/stats, such as "overrun" or "entries".
func (i *Instance) Stats(key string) (n int) {
	i.tb.Helper()
	for cpu := range i.raw {
		s := bufio.NewScanner(strings.NewReader(i.Read(fmt.Sprintf("per_cpu/cpu%d/stats", cpu))))
		for s.Scan() {
			if value, ok := strings.CutPrefix(s.Text(), key+": "); ok {
				v, err := strconv.Atoi(value)
				require.NoError(i.tb, err)
				n += v
			}
		}
	}
	return n
}

// Records consumes what is in the buffers, in the order of each CPU.
func (i *Instance) Records() (records []Record) {
	i.tb.Helper()
	for cpu, fd := range i.raw {
		for {
			n, err := sys.Read(fd, i.page)
			require.NoError(i.tb, err)
			if n == 0 {
				break
			}
			got, err := parsePage(i.ids, cpu, i.page[:n])
			require.NoError(i.tb, err)
			records = append(records, got...)
		}
	}
	return records
}
