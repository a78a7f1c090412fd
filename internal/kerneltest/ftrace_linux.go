package kerneltest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	require.NoError(i.tb, os.WriteFile(filepath.Join(i.dir, file), []byte(value), 0))
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
		if len(names) > 0 && !contains(names, name) {
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

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
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
			got, err := i.parsePage(cpu, i.page[:n])
			require.NoError(i.tb, err)
			records = append(records, got...)
		}
	}
	return records
}

// parsePage parses a page as events/header_page and events/header_event describe it
// (kernel/trace/ring_buffer.c).
func (i *Instance) parsePage(cpu int, page []byte) (records []Record, err error) {
	order := binary.NativeEndian
	now := order.Uint64(page)
	commit := int(order.Uint32(page[8:])) & 0xfffff // the bits above flag missed events
	data := page[16:min(len(page), 16+commit)]
	for len(data) >= 4 {
		head := order.Uint32(data)
		typeLen, delta := head&31, uint64(head>>5)
		var size int // of the event's data
		data = data[4:]
		switch {
		case typeLen == 0: // an array with its length in the first word
			size = int(order.Uint32(data)) - 4
			data = data[4:]
		case typeLen <= 28:
			size = int(typeLen) * 4
		case typeLen == 29: // padding: the rest of the page, or a discarded event
			if delta == 0 {
				return records, nil
			}
			now += delta
			data = data[order.Uint32(data):]
			continue
		case typeLen == 30: // time extend
			now += delta + uint64(order.Uint32(data))<<27
			data = data[4:]
			continue
		case typeLen == 31: // absolute time stamp
			now = now&^(1<<59-1) | delta + uint64(order.Uint32(data))<<27
			data = data[4:]
			continue
		}
		if size > len(data) || size < 8 {
			return records, fmt.Errorf("event of %d bytes in %d bytes of page", size, len(data))
		}
		now += delta
		name, known := i.ids[order.Uint16(data)]
		if !known {
			return records, fmt.Errorf("record of unknown event %d", order.Uint16(data))
		}
		records = append(records, Record{
			Event: name, CPU: cpu, Time: now, PID: int32(order.Uint32(data[4:])),
			Payload: append([]byte(nil), data[8:size]...),
		})
		data = data[size:]
	}
	return records, nil
}
