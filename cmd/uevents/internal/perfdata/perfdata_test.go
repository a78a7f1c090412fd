package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// formatOf returns the format of an event with a number and a text.
func formatOf(name string, number int, numberField string) string {
	return fmt.Sprintf(`name: %s
ID: %d
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 %s;	offset:8;	size:4;	signed:0;
	field:__data_loc char[] msg;	offset:12;	size:4;	signed:0;

print fmt: "%s=%%u msg=%%s", REC->%s, __get_str(msg)
`, name, number, numberField, numberField, numberField)
}

// rawOf returns a record of formatOf's event.
func rawOf(number int, status uint32, msg string) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(number))
	b = binary.NativeEndian.AppendUint32(append(b, 0, 0), 77)
	b = binary.NativeEndian.AppendUint32(b, status)
	b = binary.NativeEndian.AppendUint32(b, uint32(len(msg)+1)<<16|16)
	return append(append(b, msg...), 0)
}

var wall = time.Date(2026, 11, 22, 9, 0, 0, 123456789, time.UTC)

var myApp = &reader.Process{PID: 812, Comm: "my app"}

// eventAt returns an event to write, at a number of nanoseconds.
func eventAt(ns uint64, name string, raw []byte) *reader.Event {
	return &reader.Event{
		System: "user_events", Name: name, Raw: raw, PID: 812, TID: 815, CPU: 3,
		Monotonic: 5_000_000_000 + ns, Time: wall.Add(time.Duration(ns)),
		Process: myApp,
	}
}

func create(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "perf.data"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// writeAll writes a recording.
func writeAll(t *testing.T, o Options, events ...*reader.Event) *os.File {
	t.Helper()
	f := create(t)
	w, err := NewWriter(f, o)
	require.NoError(t, err)
	for _, ev := range events {
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	return f
}

func openFile(t *testing.T, f *os.File, table *symbols.Table) *Reader {
	t.Helper()
	st, err := f.Stat()
	require.NoError(t, err)
	r, err := Open(f, st.Size(), table)
	require.NoError(t, err)
	return r
}

// formats provides an Options.Format with two events, one of which gets other fields later.
type formats struct{ asked []string }

func (f *formats) format(system, name string) (string, error) {
	f.asked = append(f.asked, system+":"+name)
	switch len(f.asked) {
	case 1:
		return formatOf(name, 1500, "status"), nil
	case 2:
		return formatOf(name, 1501, "count"), nil
	}
	return formatOf(name, 1500, "other"), nil
}

// TestRoundTrip: records are read back with the names of their fields, even after the kernel has reused an event's
// number.
func TestRoundTrip(t *testing.T) {
	var f formats
	events := []*reader.Event{
		eventAt(0, "a", rawOf(1500, 200, "one")),
		eventAt(10, "b", rawOf(1501, 7, "")),
		eventAt(20, "a", rawOf(1500, 404, "three")),
		eventAt(30, "c", rawOf(1500, 9, "four")),
	}
	events[1].PID, events[1].TID, events[1].CPU = 900, 900, 0
	events[1].Process = nil
	events[2].Callchain = []uint64{0x401000, 0x402000}
	events[3].CgroupID = 4711
	file := writeAll(t, Options{Format: f.format, Callchain: true, CgroupID: true}, events...)
	assert.Equal(t, []string{"user_events:a", "user_events:b", "user_events:c"}, f.asked)

	r := openFile(t, file, nil)
	var ev reader.Event
	for i, want := range events {
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, want.Name, ev.Name)
		assert.Equal(t, want.System, ev.System)
		assert.Equal(t, want.Monotonic, ev.Monotonic)
		assert.True(t, want.Time.Equal(ev.Time), ev.Time)
		assert.Equal(t, []any{want.PID, want.TID, want.CPU, want.CgroupID}, []any{ev.PID, ev.TID, ev.CPU, ev.CgroupID})
		assert.Equal(t, len(want.Callchain), len(ev.Callchain))
		assert.Equal(t, want.Raw, ev.Raw[:len(want.Raw)])
		if want.Process != nil {
			assert.Equal(t, want.Process, ev.Process)
		} else {
			assert.Equal(t, &reader.Process{PID: 900}, ev.Process)
		}
		name := []string{"status", "count", "status", "other"}[i]
		v, ok := ev.Lookup(name)
		assert.True(t, ok, name)
		assert.Equal(t, []uint64{200, 7, 404, 9}[i], v.Uint64())
		msg, _ := ev.Lookup("msg")
		assert.Equal(t, []string{"one", "", "three", "four"}[i], msg.Text())
	}
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
	assert.Zero(t, r.Skipped())
}

// TestMany: the file has more records than one write, and than one round of sorting.
func TestMany(t *testing.T) {
	var f formats
	const n = 3*roundSize + 8
	var events []*reader.Event
	raw := rawOf(1500, 1, "hello")
	for i := range n {
		ev := eventAt(uint64(i)^3, "a", raw) // some come late
		ev.TID = int32(1000 + i%50)
		events = append(events, ev)
	}
	r := openFile(t, writeAll(t, Options{Format: f.format}, events...), nil)
	var ev reader.Event
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.Equal(t, uint64(5_000_000_000+i), ev.Monotonic)
		require.LessOrEqual(t, len(r.queue.waiting), 2*roundSize+200, "a bounded part is in memory")
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestWithoutRounds: a file that does not say where rounds end is not kept in memory whole.
func TestWithoutRounds(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	const n = 2 * roundSize
	for i := range n {
		w.sinceRound = 0
		require.NoError(t, w.Write(eventAt(uint64(i)^3, "a", rawOf(1500, 1, "hello"))))
	}
	require.NoError(t, w.Close())
	r := openFile(t, file, nil)
	assert.Equal(t, maxWaiting, r.queue.limit)
	r.queue.limit = 1 << 20
	var ev reader.Event
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.Equal(t, uint64(5_000_000_000+i), ev.Monotonic)
		require.LessOrEqual(t, r.queue.bytes, r.queue.limit)
		require.LessOrEqual(t, len(r.queue.waiting), r.queue.limit/recordSize)
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
	assert.Zero(t, r.queue.bytes)
}

// TestSharedIDs: events cannot all have the ids that are the rest of the file.
func TestSharedIDs(t *testing.T) {
	var f formats
	b, err := os.ReadFile(writeAll(t, Options{Format: f.format}, eventAt(0, "a", rawOf(1500, 1, "x")), eventAt(0, "b", rawOf(1501, 1, "x"))).Name())
	require.NoError(t, err)
	attrs := sectionAt(b[24:])
	for at := attrs.offset + attrSize; at < attrs.offset+attrs.size; at += attrSize + sectionSize {
		order.PutUint64(b[at:], fileHeaderSize)
		order.PutUint64(b[at+8:], uint64(len(b)/2))
	}
	_, err = Open(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err, "as many as it has bytes")
	order.PutUint64(b[attrs.offset+attrSize+8:], uint64(len(b)/2+2))
	_, err = Open(bytes.NewReader(b), int64(len(b)), nil)
	assert.ErrorIs(t, err, errFormat)
	assert.ErrorContains(t, err, "more ids")
}

// loss is what Reader.Lost is called with.
type loss struct {
	name string
	n    uint64
	at   time.Time
}

// lossesOf reads all of a file.
func lossesOf(t *testing.T, file *os.File) (losses []loss) {
	t.Helper()
	r := openFile(t, file, nil)
	r.Lost = func(name string, n uint64, at time.Time) error {
		losses = append(losses, loss{name, n, at.UTC()})
		return nil
	}
	var ev reader.Event
	for {
		if err := r.Next(&ev); errors.Is(err, io.EOF) {
			assert.ErrorIs(t, r.Next(&ev), io.EOF)
			return losses
		} else if err != nil {
			require.NoError(t, err)
		}
	}
}

// TestLost: lost records are in the file, but not those of an event that it does not have.
func TestLost(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Lost("user_events:a", 1204, wall.Add(5)))
	require.NoError(t, w.Lost("user_events:b", 1, wall))
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	assert.Error(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	assert.Error(t, w.Lost("user_events:a", 1, wall))
	assert.Equal(t, []loss{{"user_events:a", 1204, wall.Add(5)}}, lossesOf(t, file))

	r := openFile(t, file, nil)
	r.Lost = func(string, uint64, time.Time) error { return assert.AnError }
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	require.ErrorIs(t, r.Next(&ev), assert.AnError)
	r = openFile(t, file, nil) // nothing is called
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestLostSamples: what perf record adds at the end counts the records again that the kernel has counted before.
func TestLostSamples(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Write(eventAt(10, "b", rawOf(1501, 1, ""))))
	require.NoError(t, w.Lost("user_events:a", 5, wall.Add(5)))
	samples := func(misc uint16, id, n uint64) {
		end := w.begin(typeLostSamples, misc)
		w.u64(n)
		w.trailer(0, 0, 0, 0, id)
		end()
	}
	samples(0, 1, 3)
	samples(0, 2, 7)
	samples(0, 2, 1)
	samples(miscLostSamplesBPF, 2, 100) // they were not wanted
	w.begin(typeLostSamples, 0)()
	w.begin(typeLost, 0)()
	require.NoError(t, w.Close())
	assert.Equal(t, []loss{{"user_events:a", 5, wall.Add(5)}, {"user_events:b", 6, wall.Add(10)}}, lossesOf(t, file))
}

// TestMalformedSample: a record that is not as its event says does not end the recording.
func TestMalformedSample(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	end := w.begin(typeSample, miscUser)
	w.u64(1) // and no more
	end()
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Close())
	r := openFile(t, file, nil)
	var ev reader.Event
	err = r.Next(&ev)
	require.ErrorIs(t, err, reader.ErrMalformed)
	require.ErrorContains(t, err, "user_events:a")
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestCutRecord: the records before one that is cut are read.
func TestCutRecord(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	w.buf = order.AppendUint32(w.buf, typeSample)
	w.buf = order.AppendUint32(w.buf, 1000<<16)
	require.NoError(t, w.Close())
	r := openFile(t, file, nil)
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	err = r.Next(&ev)
	require.ErrorIs(t, err, errFormat)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// TestMappings: the file has the mappings of processes, so that its stacks can be resolved.
func TestMappings(t *testing.T) {
	var f formats
	live, replayed := symbols.New(), symbols.NewRecorded()
	pid := int32(os.Getpid())
	ev := eventAt(0, "a", rawOf(1500, 1, ""))
	ev.PID, ev.TID = pid, pid
	file := writeAll(t, Options{Format: f.format, Callchain: true, Symbols: live}, ev)
	require.NoError(t, openFile(t, file, replayed).Next(ev))
	var want []symbols.Mapping
	for _, m := range live.Mappings(pid) {
		if m.Path == "" {
			m.Path = "//anon"
		}
		want = append(want, m)
	}
	assert.NotEmpty(t, want)
	assert.Equal(t, want, replayed.Mappings(pid))
}

// TestFork: a process that another one made has the mappings of that.
func TestFork(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	at := eventAt(0, "a", rawOf(1500, 1, "x"))
	w.mapping(at, &symbols.Mapping{Start: 0x1000, End: 0x2000, Device: "08:01", Inode: 7, Path: "/usr/bin/myapp"})
	end := w.begin(typeFork, 0)
	w.u32(813, 812, 813, 812) // the child is 813
	w.u64(at.Monotonic)
	w.trailer(813, 813, at.Monotonic, 0, 0)
	end()
	require.NoError(t, w.Write(at))
	require.NoError(t, w.Close())
	table := symbols.NewRecorded()
	var ev reader.Event
	require.NoError(t, openFile(t, file, table).Next(&ev))
	require.Len(t, table.Mappings(812), 1)
	assert.Equal(t, table.Mappings(812), table.Mappings(813))
}

// TestShortMappings: records of mappings that are shorter than their fields are left out.
func TestShortMappings(t *testing.T) {
	var f formats
	file := create(t)
	w, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	for _, kind := range []uint32{typeMmap, typeMmap2} {
		for size := range 72 {
			end := w.begin(kind, miscUser)
			w.buf = append(w.buf, bytes.Repeat([]byte{1}, size)...)
			end()
		}
	}
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, "x"))))
	require.NoError(t, w.Close())
	r := openFile(t, file, symbols.NewRecorded())
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestWriteErrors: what cannot be written is refused, and the file stays as it should be.
func TestWriteErrors(t *testing.T) {
	var f formats
	gone := errors.New("gone")
	file := create(t)
	w, err := NewWriter(file, Options{Format: func(system, name string) (string, error) {
		switch name {
		case "gone":
			return "", gone
		case "bad":
			return "no format", nil
		}
		return f.format(system, name)
	}})
	require.NoError(t, err)
	assert.ErrorIs(t, w.Write(eventAt(0, "gone", rawOf(1, 1, ""))), gone)
	assert.Error(t, w.Write(eventAt(0, "bad", rawOf(1, 1, ""))))
	assert.ErrorContains(t, w.Write(eventAt(0, "a", nil)), "without its bytes")
	assert.ErrorContains(t, w.Write(eventAt(0, "a", make([]byte, 1<<16))), "too large")
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, string(bytes.Repeat([]byte("x"), 60000))))))
	require.NoError(t, w.Close())
	var ev reader.Event
	r := openFile(t, file, nil)
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}

type fullDisk struct{ io.WriteSeeker }

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	_, err := NewWriter(fullDisk{}, Options{})
	assert.ErrorIs(t, err, errFull)
	var f formats
	w, err := NewWriter(create(t), Options{Format: f.format})
	require.NoError(t, err)
	w.file = fullDisk{}
	raw := rawOf(1500, 1, "hello")
	for i := 0; err == nil; i++ {
		require.Less(t, i, flushSize)
		err = w.Write(eventAt(uint64(i), "a", raw))
	}
	assert.ErrorIs(t, err, errFull)
	assert.ErrorIs(t, w.Write(eventAt(0, "a", raw)), errFull)
	assert.ErrorIs(t, err, ErrUnreadable, "nothing can be written at all")
	assert.ErrorIs(t, w.Close(), errFull)
}

// smallDisk is a file on a disk that has room for so many bytes.
type smallDisk struct {
	*os.File
	room int64
}

func (d smallDisk) Write(b []byte) (int, error) {
	at, err := d.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if room := max(d.room-at, 0); int64(len(b)) > room {
		n, _ := d.File.Write(b[:room])
		return n, errFull
	}
	return d.File.Write(b)
}

// TestDiskFull: wherever the disk is full, the file has what was recorded before, but for what makes room for its end.
func TestDiskFull(t *testing.T) {
	full := 0
	for room := int64(250_000); room < 1_200_000; room += 25_013 {
		var f formats
		file := create(t)
		w, err := NewWriter(smallDisk{file, room}, Options{Format: f.format})
		require.NoError(t, err)
		const n = 8000
		for i := 0; i < n && err == nil; i++ {
			err = w.Write(eventAt(uint64(i), "a", rawOf(1500, uint32(i), "hello")))
		}
		closeErr := w.Close()
		st, statErr := file.Stat()
		require.NoError(t, statErr)
		if err == nil && closeErr == nil {
			continue
		}
		full++
		require.ErrorIs(t, closeErr, errFull)
		require.NotErrorIs(t, closeErr, ErrUnreadable, "%d", room)
		require.LessOrEqual(t, st.Size(), room)
		require.Greater(t, st.Size(), room-2*flushSize, "%d", room)
		r := openFile(t, file, nil)
		var ev reader.Event
		read := 0
		for ; r.Next(&ev) == nil; read++ {
			require.Equal(t, uint64(read), ev.Fields[0].Value.Uint64())
		}
		require.ErrorIs(t, r.Next(&ev), io.EOF)
		if room > 2*flushSize {
			require.Positive(t, read)
		}
	}
	assert.Greater(t, full, 10)
}

// TestNoFile: what is no recording is refused with a reason.
func TestNoFile(t *testing.T) {
	var f formats
	good, err := os.ReadFile(writeAll(t, Options{Format: f.format}, eventAt(0, "a", rawOf(1500, 1, "x"))).Name())
	require.NoError(t, err)
	change := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	for name, b := range map[string][]byte{
		"the header":         good[:50],
		"does not begin":     change(0, []byte("PERFILE3")...),
		"another byte order": change(0, []byte("2ELIFREP")...),
		"to a pipe":          change(8, 16, 0),
		"did not end":        change(24, make([]byte, 32)...),
		"at":                 good[:len(good)-40],
	} {
		_, err := Open(bytes.NewReader(b), int64(len(b)), nil)
		assert.ErrorIs(t, err, errFormat, name)
		assert.ErrorContains(t, err, name)
	}
}

// FuzzOpen: the reader does not panic, and allocates no more memory than the file has data.
// TestUndecodable: a record that does not fit the format of its event is returned with its bytes.
func TestUndecodable(t *testing.T) {
	var f formats
	whole := rawOf(1500, 1, "one")
	file := writeAll(t, Options{Format: f.format}, eventAt(0, "a", whole[:10]), eventAt(10, "a", whole))
	r := openFile(t, file, nil)
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	assert.True(t, ev.Undecodable)
	assert.Equal(t, "a", ev.Name)
	assert.Empty(t, ev.Fields)
	assert.Equal(t, whole[:10], ev.Raw[:10])
	require.NoError(t, r.Next(&ev))
	assert.False(t, ev.Undecodable)
	assert.Len(t, ev.Fields, 2)
}

// TestClocks: the time of day is that of the records' clock, or not known.
func TestClocks(t *testing.T) {
	var f formats
	seed, err := os.ReadFile(writeAll(t, Options{Format: f.format}, eventAt(0, "a", rawOf(1500, 1, "one"))).Name())
	require.NoError(t, err)
	const raw = 4 // CLOCK_MONOTONIC_RAW
	attrs := order.Uint64(seed[24:])
	wallClock := bytes.Index(seed, binary.NativeEndian.AppendUint64(nil, uint64(wall.UnixNano()))) - 8
	require.Positive(t, wallClock)
	for _, c := range []struct {
		name     string
		edit     func(b []byte)
		want     Clock
		wantTime time.Time
	}{
		{"ours", func([]byte) {}, Clock{true, true}, wall},
		{"perf record -k raw", func(b []byte) {
			order.PutUint32(b[attrs+92:], raw)
			order.PutUint32(b[wallClock+4:], raw)
		}, Clock{false, true}, wall},
		{"perf record", func(b []byte) { // without -k, also without the time of day
			order.PutUint64(b[attrs+40:], order.Uint64(b[attrs+40:])&^attrUseClockID)
		}, Clock{false, false}, time.Unix(5, 0)},
		{"of another clock", func(b []byte) { order.PutUint32(b[wallClock+4:], raw) }, Clock{true, false}, time.Unix(5, 0)},
	} {
		b := bytes.Clone(seed)
		c.edit(b)
		r, err := Open(bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, r.Clock(), c.name)
		var ev reader.Event
		require.NoError(t, r.Next(&ev), c.name)
		assert.True(t, c.wantTime.Equal(ev.Time), "%s: %s", c.name, ev.Time)
		assert.EqualValues(t, 5_000_000_000, ev.Monotonic, c.name)
	}
}

func FuzzOpen(f *testing.F) {
	var text formats
	file, err := os.Create(filepath.Join(f.TempDir(), "seed"))
	require.NoError(f, err)
	defer file.Close()
	w, err := NewWriter(file, Options{
		Format: text.format, Callchain: true, Symbols: symbols.New(), CgroupID: true, Hostname: "h", Command: []string{"a", "b"},
	})
	require.NoError(f, err)
	own := eventAt(0, "a", rawOf(1500, 1, "x"))
	own.PID, own.TID = int32(os.Getpid()), int32(os.Getpid()) // it has mappings
	require.NoError(f, w.Write(own))
	w.begin(typeMmap2, miscUser)()
	ev := eventAt(0, "a", rawOf(1500, 1, "x"))
	ev.Callchain = []uint64{1, 2, 3}
	require.NoError(f, w.Write(ev))
	require.NoError(f, w.Write(eventAt(1, "b", rawOf(1501, 1, "x"))))
	require.NoError(f, w.Lost("user_events:b", 1, wall))
	require.NoError(f, w.Close())
	seed, err := os.ReadFile(file.Name())
	require.NoError(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Open(bytes.NewReader(b), int64(len(b)), symbols.NewRecorded())
		if err != nil {
			assert.ErrorIs(t, err, errFormat)
			return
		}
		var ev reader.Event
		for range len(b) {
			if err := r.Next(&ev); err != nil && !errors.Is(err, reader.ErrMalformed) {
				return
			}
		}
	})
}

// BenchmarkWrite measures the cost of writing a record to the file.
func BenchmarkWrite(b *testing.B) {
	var f formats
	w, err := NewWriter(discard{}, Options{Format: f.format})
	require.NoError(b, err)
	ev := eventAt(0, "a", rawOf(1500, 1, "hello"))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(ev); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error)         { return len(b), nil }
func (discard) Seek(at int64, _ int) (int64, error) { return at, nil }
