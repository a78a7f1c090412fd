package perfdata

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

// TestRoundTrip: records are read with the names of their fields, of a finished file and of a stream, also of events that the stream
// describes late.
func TestRoundTrip(t *testing.T) {
	events := []*record.Record{
		eventAt(0, "a", rawOf(1500, 200, "one")),
		eventAt(10, "b", rawOf(1501, 7, "")),
		eventAt(20, "a", rawOf(1500, 404, "three")),
		eventAt(30, "c", rawOf(1502, 9, "four")),
	}
	events[1].PID, events[1].TID, events[1].CPU = 900, 900, 0
	events[2].Callchain = []uint64{0x401000, 0x402000}
	events[3].CgroupID = 4711
	recording := &Recording{Callchain: true, CgroupID: true}
	add(recording)
	recording.Comm(812, "my app")
	for _, ev := range events[:3] {
		recording.Add(map[string]uint64{"a": 1, "b": 2}[ev.Name], ev)
	}
	recording.Add(recording.Event("other", formatOf("c", 1502, "other")), events[3])
	events[3].System = "other"
	checkRoundTrip(t, open(t, recording.File(), nil), events)
	r, err := Open(bytes.NewBuffer(recording.Stream()), nil)
	require.NoError(t, err)
	checkRoundTrip(t, r, events)
}

func checkRoundTrip(t *testing.T, r *Reader, events []*record.Record) {
	t.Helper()
	var ev record.Record
	for i, want := range events {
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, want.Name, ev.Name)
		assert.Equal(t, want.System, ev.System)
		assert.Equal(t, want.Monotonic, ev.Monotonic)
		assert.True(t, want.Time.Equal(ev.Time), ev.Time)
		assert.Equal(t, []any{want.PID, want.TID, want.CPU, want.CgroupID}, []any{ev.PID, ev.TID, ev.CPU, ev.CgroupID})
		assert.Equal(t, append([]uint64{}, want.Callchain...), append([]uint64{}, ev.Callchain...))
		assert.Equal(t, want.Raw, ev.Raw[:len(want.Raw)])
		assert.Equal(t, &record.Process{PID: want.PID, Comm: map[int32]string{812: "my app"}[want.PID]}, ev.Process)
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

// many returns n records, of which some come late, with a number in a round.
func many(n, round int) *Recording {
	recording := recordingOf()
	raw := rawOf(1500, 1, "hello")
	for i := range n {
		ev := eventAt(uint64(i)^3, "a", raw)
		ev.TID = int32(1000 + i%50)
		recording.Add(1, ev)
		if round > 0 && i%round == round-1 {
			recording.Round()
		}
	}
	return recording
}

// TestMany: the file has more records than one round of sorting.
func TestMany(t *testing.T) {
	testscale.HostOnly(t)
	const round = 10_000
	const n = 3*round + 8
	r := open(t, many(n, round).File(), nil)
	var ev record.Record
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.Equal(t, uint64(5_000_000_000)+uint64(i), ev.Monotonic)
		require.LessOrEqual(t, len(r.queue.waiting), 2*round+200, "a bounded part is in memory")
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestUnordered: records that come long after newer ones are sorted, if the file has no rounds.
func TestUnordered(t *testing.T) {
	recording := recordingOf()
	const n, first = 30_000, 20_000
	for i := range n {
		at := (i + first) % n // the newest third comes first
		recording.Add(1, eventAt(uint64(1000*at), "a", rawOf(1500, uint32(at), "hello")))
	}
	r := open(t, recording.File(), nil)
	var ev record.Record
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.EqualValues(t, i, ev.Fields()[0].Value.Uint64())
		require.Equal(t, wall.Add(time.Duration(1000*i)), ev.Time.UTC())
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestWithoutRounds: a file that does not say where rounds end is not kept in memory whole.
func TestWithoutRounds(t *testing.T) {
	testscale.HostOnly(t)
	const n = 20_000
	r := open(t, many(n, 0).File(), nil)
	assert.Equal(t, maxWaiting, r.queue.limit)
	r.queue.limit = 1 << 20
	var ev record.Record
	for i := range n {
		require.NoError(t, r.Next(&ev))
		require.Equal(t, uint64(5_000_000_000)+uint64(i), ev.Monotonic)
		require.LessOrEqual(t, r.queue.bytes, r.queue.limit)
		require.LessOrEqual(t, len(r.queue.waiting), r.queue.limit/recordSize)
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
	assert.Zero(t, r.queue.bytes)
}

// TestSharedIDs: events cannot all have the ids that are the rest of the file.
func TestSharedIDs(t *testing.T) {
	b := recordingOf(eventAt(0, "a", rawOf(1500, 1, "x")), eventAt(0, "b", rawOf(1501, 1, "x"))).File()
	attrs := sectionAt(b[24:])
	for at := attrs.offset + attrSize; at < attrs.offset+attrs.size; at += attrSize + sectionSize {
		order.PutUint64(b[at:], fileHeaderSize)
		order.PutUint64(b[at+8:], uint64(len(b)/2))
	}
	_, err := Open(bytes.NewReader(b), nil)
	require.NoError(t, err, "as many as it has bytes")
	order.PutUint64(b[attrs.offset+attrSize+8:], uint64(len(b)/2+2))
	_, err = Open(bytes.NewReader(b), nil)
	assert.ErrorIs(t, err, errFormat)
	assert.ErrorContains(t, err, "more ids")
}

// TestMalformedSample: a record that is not as its event says does not end the recording.
func TestMalformedSample(t *testing.T) {
	recording := recordingOf(eventAt(0, "a", rawOf(1500, 1, "")))
	recording.Record(typeSample, 2, words[uint64](1)) // and no more
	recording.Add(1, eventAt(10, "a", rawOf(1500, 1, "")))
	r := open(t, recording.File(), nil)
	var ev record.Record
	err := r.Next(&ev)
	require.ErrorIs(t, err, record.ErrMalformed)
	require.ErrorContains(t, err, "user_events:a")
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestCutRecord: the records before one that is cut are read, wherever it is cut.
func TestCutRecord(t *testing.T) {
	events := []*record.Record{eventAt(0, "a", rawOf(1500, 1, "x")), eventAt(10, "b", rawOf(1501, 2, "y")), eventAt(20, "a", rawOf(1500, 3, ""))}
	content := recordingOf(events...).Stream()
	var ends []int // of the samples
	for i := range events {
		ends = append(ends, len(recordingOf(events[:i+1]...).Stream()))
	}
	for n := pipeHeaderSize; n < len(content); n++ {
		r, err := Open(bytes.NewReader(content[:n]), nil)
		require.NoError(t, err)
		var ev record.Record
		for i, end := range ends {
			if end <= n {
				require.NoError(t, r.Next(&ev), "%d", n)
				require.Equal(t, events[i].Monotonic, ev.Monotonic)
			}
		}
		err = r.Next(&ev)
		if !errors.Is(err, io.EOF) { // else it ends between records
			require.ErrorIs(t, err, ErrCut, "%d", n)
			require.NotErrorIs(t, err, errFormat)
		}
		require.ErrorIs(t, r.Next(&ev), cmp.Or(err, io.EOF))
	}
}

// TestNoFile: what is no recording is refused with a reason.
func TestNoFile(t *testing.T) {
	good := recordingOf(eventAt(0, "a", rawOf(1500, 1, "x"))).File()
	change := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	for name, b := range map[string][]byte{
		"the header":          good[:10],
		"104 bytes at 0":      good[:50],
		"does not begin":      change(0, []byte("PERFILE3")...),
		"another byte order":  change(0, []byte(otherMagic)...),
		"of 17 bytes":         change(8, 17, 0),
		"perf record did not": change(48, make([]byte, 8)...),
		"at":                  good[:len(good)-40],
	} {
		_, err := Open(bytes.NewReader(b), nil)
		assert.ErrorIs(t, err, errFormat, name)
		assert.ErrorContains(t, err, name)
	}
	_, err := Open(bufio.NewReader(bytes.NewReader(good)), nil) // from a pipe
	assert.NotErrorIs(t, err, errFormat, "nothing is wrong with the recording")
	assert.ErrorContains(t, err, "give the name of the file")
}

// TestNoRecords: a recording without records is read, and one of a program that was killed before it described its events.
func TestNoRecords(t *testing.T) {
	for _, recording := range []*Recording{{}, recordingOf()} {
		r := open(t, recording.Stream(), nil)
		require.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
		require.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	}
	assert.Equal(t, Clock{Monotonic: true, WallTime: true}, open(t, new(Recording).Stream(), nil).Clock())
}

// TestNoEvent: a record before its event, and one of an event without a format, are not as they should be.
func TestNoEvent(t *testing.T) {
	var recording Recording
	recording.Record(typeComm, 0, nil)
	err := open(t, recording.Stream(), nil).Next(new(record.Record))
	require.ErrorIs(t, err, errFormat)
	require.ErrorContains(t, err, fmt.Sprintf("its record at byte %d comes before its event", pipeHeaderSize))

	content := recordingOf(eventAt(0, "a", rawOf(1500, 1, "x"))).Stream()
	content = bytes.Replace(content, []byte("\nID: 1500\n"), []byte("\nID: 1501\n"), 1)
	err = open(t, content, nil).Next(new(record.Record))
	require.ErrorIs(t, err, errFormat)
	require.ErrorContains(t, err, "no format of tracepoint 1500")
}

// TestUndecodable: a record that does not fit the format of its event is returned with its bytes.
func TestUndecodable(t *testing.T) {
	whole := rawOf(1500, 1, "one")
	r := open(t, recordingOf(eventAt(0, "a", whole[:10]), eventAt(10, "a", whole)).File(), nil)
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.True(t, ev.Undecodable)
	assert.Equal(t, "a", ev.Name)
	assert.Empty(t, ev.Fields())
	assert.Equal(t, whole[:10], ev.Raw[:10])
	require.NoError(t, r.Next(&ev))
	assert.False(t, ev.Undecodable)
	assert.Len(t, ev.Fields(), 2)
}

// TestClocks: the time of day is that of the records' clock, or not known.
func TestClocks(t *testing.T) {
	seed := recordingOf(eventAt(0, "a", rawOf(1500, 1, "one"))).File()
	const raw = 4 // CLOCK_MONOTONIC_RAW
	attrs := order.Uint64(seed[24:])
	setWallClock := func(b []byte, clock byte) {
		is := binary.NativeEndian.AppendUint64([]byte{1, 0, 0, 0, clockMonotonic, 0, 0, 0}, uint64(wall.UnixNano()))
		require.Equal(t, 1, bytes.Count(b, is))
		b[bytes.Index(b, is)+4] = clock
	}
	for _, c := range []struct {
		name     string
		edit     func(b []byte)
		want     Clock
		wantTime time.Time
	}{
		{"perf record -k mono", func([]byte) {}, Clock{true, true}, wall},
		{"perf record -k raw", func(b []byte) {
			order.PutUint32(b[attrs+92:], raw)
			setWallClock(b, raw)
		}, Clock{false, true}, wall},
		{"perf record", func(b []byte) { // without -k, also without the time of day
			order.PutUint64(b[attrs+40:], order.Uint64(b[attrs+40:])&^attrUseClockID)
		}, Clock{false, false}, time.Unix(5, 0)},
		{"of another clock", func(b []byte) { setWallClock(b, raw) }, Clock{true, false}, time.Unix(5, 0)},
	} {
		b := bytes.Clone(seed)
		c.edit(b)
		r, err := Open(bytes.NewReader(b), nil)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, r.Clock(), c.name)
		var ev record.Record
		require.NoError(t, r.Next(&ev), c.name)
		assert.True(t, c.wantTime.Equal(ev.Time), "%s: %s", c.name, ev.Time)
		assert.EqualValues(t, uint64(5_000_000_000), ev.Monotonic, c.name)
	}
}

// FuzzOpen: the reader does not panic, and allocates no more memory than the file has data.
func FuzzOpen(f *testing.F) {
	recording := &Recording{Callchain: true, CgroupID: true}
	first := eventAt(0, "a", rawOf(1500, 1, "x"))
	add(recording, first)
	recording.Comm(812, "my app")
	mmap2(recording, 812, &mapping, first)
	recording.Record(typeMmap2, 2, nil)
	first.Callchain = []uint64{1, 2, 3}
	recording.Add(1, first)
	recording.Add(2, eventAt(1, "b", rawOf(1501, 1, "x")))
	recording.Lost(2, 1, wall)
	for _, seed := range forms(recording) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Open(bytes.NewReader(b), symbols.NewRecorded())
		if err != nil {
			assert.ErrorIs(t, err, errFormat)
			return
		}
		var ev record.Record
		for range len(b) {
			if err := r.Next(&ev); err != nil && !errors.Is(err, record.ErrMalformed) {
				return
			}
		}
	})
}

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

// eventAt returns an event to write, at a number of nanoseconds.
func eventAt(ns uint64, name string, raw []byte) *record.Record {
	return &record.Record{
		System: "user_events", Name: name, Raw: raw, PID: 812, TID: 815, CPU: 3,
		Monotonic: 5_000_000_000 + ns, Time: wall.Add(time.Duration(ns)),
	}
}

// recordingOf returns a recording of the events a, whose number is 1500 and whose id is 1, and b.
func recordingOf(events ...*record.Record) *Recording {
	r := &Recording{}
	add(r, events...)
	return r
}

// add adds the events a and b, and records of them.
func add(r *Recording, events ...*record.Record) {
	r.Event("user_events", formatOf("a", 1500, "status"))
	r.Event("user_events", formatOf("b", 1501, "count"))
	for _, ev := range events {
		r.Add(map[string]uint64{"a": 1, "b": 2}[ev.Name], ev)
	}
}

func open(t *testing.T, content []byte, table *symbols.Table) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(content), table)
	require.NoError(t, err)
	return r
}

// forms returns a recording as a finished file, and as a stream.
func forms(r *Recording) [][]byte { return [][]byte{r.File(), r.Stream()} }
