package kerneltest

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
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
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Record is one record that a tracing tool read.
type Record struct {
	Event   string
	CPU     int
	Time    uint64 // ns; of an Instance: a number that orders the records of all CPUs
	PID     int32  // of the thread that wrote it
	Payload []byte // with up to 7 bytes of padding at the end
}

var instances atomic.Uint32

// Instance is a trace instance of ftrace that is removed with the test. Its records are read from the kernel's raw
// pages.
type Instance struct {
	*tracefs.Instance
	tb     testing.TB
	events map[uint16]*tracefs.Event // by id
	raw    []int                     // descriptors of trace_pipe_raw, by CPU
	page   []byte
}

// NewInstance makes an instance with kb KiB of buffer for each CPU.
func NewInstance(tb testing.TB, fs *tracefs.Dir, kb int) *Instance {
	tb.Helper()
	own, err := fs.NewInstance(fmt.Sprintf("uetest-%d-%d", os.Getpid(), instances.Add(1)))
	require.NoError(tb, err)
	i := &Instance{Instance: own, tb: tb, events: map[uint16]*tracefs.Event{}, page: make([]byte, os.Getpagesize())}
	tb.Cleanup(i.remove)
	require.NoError(tb, os.WriteFile(i.Path("buffer_size_kb"), []byte(strconv.Itoa(kb)), 0))
	if _, measures := tb.(*testing.B); !measures {
		// By the clocks that tell a time, records of two CPUs may have the same one, or the wrong order.
		require.NoError(tb, i.SetClock("counter"))
	}
	files, err := filepath.Glob(i.Path("per_cpu", "cpu*", "trace_pipe_raw"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for n := range files {
		fd, err := systest.OpenNonblocking(i.Path("per_cpu", fmt.Sprintf("cpu%d", n), "trace_pipe_raw"))
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
	if err := i.Remove(); err != nil {
		i.tb.Error(err)
	}
}

// SetClock sets the clock of the records, such as "global", and discards what was recorded.
func (i *Instance) SetClock(clock string) error {
	return os.WriteFile(i.Path("trace_clock"), []byte(clock), 0)
}

// Clear discards what was recorded.
func (i *Instance) Clear() {
	i.tb.Helper()
	f, err := os.OpenFile(i.Path("trace"), os.O_WRONLY|os.O_TRUNC, 0) // which truncate(2) does not do
	require.NoError(i.tb, err)
	require.NoError(i.tb, f.Close())
}

// Attach enables events, named as for [tracefs.Instance.Event].
func (i *Instance) Attach(names ...string) {
	i.tb.Helper()
	for _, name := range names {
		e := i.Event(name)
		id, err := e.ID()
		require.NoError(i.tb, err)
		i.events[uint16(id)] = e
		require.NoError(i.tb, e.Enable())
	}
}

// Detach disables the events of these names, or all.
func (i *Instance) Detach(names ...string) {
	for _, e := range i.events {
		if len(names) > 0 && !slices.Contains(names, e.Name()) {
			continue
		}
		err := e.Disable()
		// An event without users is being deleted.
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			i.tb.Errorf("detaching: %v", err)
		}
	}
}

// BufferStats counts records in the ring buffers of an instance.
type BufferStats struct {
	Entries       uint64 // records in the buffers
	Overrun       uint64 // lost: overwritten by newer ones before they were read
	CommitOverrun uint64 // lost: came while the buffer's last page was still being written
	Dropped       uint64 // lost: refused because the buffer was full, in the mode that does not overwrite
}

// StatsOf returns the counts of all CPUs together.
func StatsOf(tb testing.TB, i *tracefs.Instance) (s BufferStats) {
	tb.Helper()
	counts := map[string]*uint64{"entries": &s.Entries, "overrun": &s.Overrun, "commit overrun": &s.CommitOverrun, "dropped events": &s.Dropped}
	files, err := filepath.Glob(i.Path("per_cpu", "cpu*", "stats"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(tb, err)
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if count := counts[key]; count != nil {
				n, err := strconv.ParseUint(value, 10, 64)
				require.NoError(tb, err)
				*count += n
			}
		}
	}
	return s
}

// Stats returns the counts of the ring buffers.
func (i *Instance) Stats() BufferStats {
	i.tb.Helper()
	return StatsOf(i.tb, i.Instance)
}

// Content returns the records as text and leaves them in the buffers.
func (i *Instance) Content() string {
	i.tb.Helper()
	return ContentOf(i.tb, i.Instance)
}

// ContentOf is [Instance.Content] of any instance.
func ContentOf(tb testing.TB, i *tracefs.Instance) string {
	tb.Helper()
	text, err := os.ReadFile(i.Path("trace"))
	require.NoError(tb, err)
	return string(text)
}

// Records consumes what is in the buffers, in the order in which it was written: a test's thread may have moved to another CPU
// between two records.
func (i *Instance) Records() (records []Record) {
	i.tb.Helper()
	ids := make(map[uint16]string, len(i.events))
	for id, e := range i.events {
		ids[id] = e.Name()
	}
	for cpu, fd := range i.raw {
		for {
			n, err := systest.Read(fd, i.page)
			require.NoError(i.tb, err)
			if n == 0 {
				break
			}
			got, err := parsePage(ids, cpu, i.page[:n])
			require.NoError(i.tb, err)
			records = append(records, got...)
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.Time, b.Time) })
	return records
}

// Types of events in a ring buffer, include/linux/ring_buffer.h. Up to typeDataMax the type
// is the length of the data in words of four bytes.
const (
	typeArray      = 0 // the length is in the first word of the data
	typeDataMax    = 28
	typePadding    = 29
	typeTimeExtend = 30
	typeTimeStamp  = 31

	deltaBits  = 27 // of a time difference in a header
	pageHeader = 16 // u64 time, u64 length of what follows, with flags above commitMask
	commitMask = 0xfffff
)

var errCut = errors.New("the page ends inside of an event")

// parsePage parses a page of a ring buffer as events/header_page and events/header_event
// describe it (kernel/trace/ring_buffer.c). ids are the events that may be in it.
func parsePage(ids map[uint16]string, cpu int, page []byte) (records []Record, err error) {
	order := binary.NativeEndian
	if len(page) < pageHeader {
		return nil, errCut
	}
	now := order.Uint64(page)
	commit := int(order.Uint32(page[8:]) & commitMask)
	if pageHeader+commit > len(page) {
		return nil, errCut
	}
	data := page[pageHeader : pageHeader+commit]
	for len(data) >= 4 {
		head := order.Uint32(data)
		data = data[4:]
		kind, delta := head&31, uint64(head>>5)
		if kind == typePadding && delta == 0 {
			return records, nil // nothing but padding follows
		}
		size := int(kind) * 4
		if kind == typeArray || kind > typeDataMax {
			if len(data) < 4 {
				return records, errCut
			}
			word := order.Uint32(data)
			switch kind {
			case typeArray: // the length counts its own word
				size = int(word) - 4
				data = data[4:]
			case typePadding: // an event that was given up; the length counts its own word here too
				now += delta
				if int(word) > len(data) {
					return records, errCut
				}
				data = data[word:]
				continue
			case typeTimeExtend:
				now += delta + uint64(word)<<deltaBits
				data = data[4:]
				continue
			case typeTimeStamp: // absolute, but for the bits above 59
				now = now&^(1<<59-1) | delta + uint64(word)<<deltaBits
				data = data[4:]
				continue
			}
		}
		if size < 8 || size > len(data) {
			return records, fmt.Errorf("event of %d bytes: %w", size, errCut)
		}
		now += delta
		id := order.Uint16(data)
		name, known := ids[id]
		if !known {
			return records, fmt.Errorf("record of the unknown event %d", id)
		}
		records = append(records, Record{
			Event: name, CPU: cpu, Time: now, PID: int32(order.Uint32(data[4:])),
			Payload: append([]byte(nil), data[8:size]...),
		})
		data = data[size:]
	}
	return records, nil
}

// TraceText returns the text of the top-level instance. Kernels before 6.4 don't trust the
// fields of user events and dump the record in hexadecimal; there the text ends with
// the bytes that were dumped.
func TraceText(tb testing.TB, fs *tracefs.Dir) (text string, dumped bool) {
	tb.Helper()
	text = ContentOf(tb, fs.Top())
	bytes := dump(text)
	return text + string(bytes), len(bytes) > 0
}

// dump returns the bytes of lines such as
// "00000090: 22 3a 37 7d 7d 00 d3 fe                          ":7}}...".
func dump(text string) (bytes []byte) {
	for line := range strings.SplitSeq(text, "\n") {
		offset, rest, ok := strings.Cut(line, ": ")
		if !ok || len(offset) != 8 || len(rest) < 48 {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(rest[:48]), " ", ""))
		if err == nil {
			bytes = append(bytes, b...)
		}
	}
	return bytes
}
