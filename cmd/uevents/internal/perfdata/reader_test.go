package perfdata

import (
	"bufio"
	"bytes"
	"cmp"
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
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// TestMany: the file has more records than one write, and than one round of sorting.
func TestMany(t *testing.T) {
	testscale.HostOnly(t)
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
		require.Equal(t, uint64(5_000_000_000)+uint64(i), ev.Monotonic)
		require.LessOrEqual(t, len(r.queue.waiting), 2*roundSize+200, "a bounded part is in memory")
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestWithoutRounds: a file that does not say where rounds end is not kept in memory whole.
func TestWithoutRounds(t *testing.T) {
	testscale.HostOnly(t)
	w, file := newWriter(t)
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
		require.Equal(t, uint64(5_000_000_000)+uint64(i), ev.Monotonic)
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
	_, err = Open(bytes.NewReader(b), nil)
	require.NoError(t, err, "as many as it has bytes")
	order.PutUint64(b[attrs.offset+attrSize+8:], uint64(len(b)/2+2))
	_, err = Open(bytes.NewReader(b), nil)
	assert.ErrorIs(t, err, errFormat)
	assert.ErrorContains(t, err, "more ids")
}

// TestMalformedSample: a record that is not as its event says does not end the recording.
func TestMalformedSample(t *testing.T) {
	w, file := newWriter(t)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	end := w.begin(typeSample, miscUser)
	w.u64(1) // and no more
	end()
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Close())
	r := openFile(t, file, nil)
	var ev reader.Event
	err := r.Next(&ev)
	require.ErrorIs(t, err, reader.ErrMalformed)
	require.ErrorContains(t, err, "user_events:a")
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	require.ErrorIs(t, r.Next(&ev), io.EOF)
}

// TestCutRecord: the records before one that is cut are read, wherever it is cut.
func TestCutRecord(t *testing.T) {
	var f formats
	events := []*reader.Event{eventAt(0, "a", rawOf(1500, 1, "x")), eventAt(10, "b", rawOf(1501, 2, "y")), eventAt(20, "a", rawOf(1500, 3, ""))}
	content := stream(t, Options{Format: f.format}, events...)
	var ends []int // of the samples
	for i := range events {
		ends = append(ends, len(stream(t, Options{Format: new(formats).format}, events[:i+1]...)))
	}
	for n := pipeHeaderSize; n < len(content); n++ {
		r, err := Open(bytes.NewReader(content[:n]), nil)
		require.NoError(t, err)
		var ev reader.Event
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
	var f formats
	good, err := os.ReadFile(writeAll(t, Options{Format: f.format}, eventAt(0, "a", rawOf(1500, 1, "x"))).Name())
	require.NoError(t, err)
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
	_, err = Open(bufio.NewReader(bytes.NewReader(good)), nil) // from a pipe
	assert.NotErrorIs(t, err, errFormat, "nothing is wrong with the recording")
	assert.ErrorContains(t, err, "give the name of the file")
}

// TestNoRecords: a recording without records is read, and one of a program that was killed before.
func TestNoRecords(t *testing.T) {
	_, begun := newWriter(t)
	for _, file := range []*os.File{begun, writeAll(t, Options{})} {
		r := openFile(t, file, nil)
		require.ErrorIs(t, r.Next(new(reader.Event)), io.EOF)
		require.ErrorIs(t, r.Next(new(reader.Event)), io.EOF)
		assert.Equal(t, Clock{Monotonic: true, WallTime: true}, r.Clock())
	}
}

// TestNoEvent: a record before its event, and one of an event without a format, are not as they should be.
func TestNoEvent(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Options{Format: new(formats).format})
	require.NoError(t, err)
	w.begin(typeComm, 0)()
	require.NoError(t, w.Flush())
	r, err := Open(&b, nil)
	require.NoError(t, err)
	err = r.Next(new(reader.Event))
	require.ErrorIs(t, err, errFormat)
	require.ErrorContains(t, err, fmt.Sprintf("its record at byte %d comes before its event", pipeHeaderSize))

	content := stream(t, Options{Format: new(formats).format}, eventAt(0, "a", rawOf(1500, 1, "x")))
	content = bytes.Replace(content, []byte("\nID: 1500\n"), []byte("\nID: 1501\n"), 1)
	r, err = Open(bytes.NewReader(content), nil)
	require.NoError(t, err)
	err = r.Next(new(reader.Event))
	require.ErrorIs(t, err, errFormat)
	require.ErrorContains(t, err, "no format of tracepoint 1500")
}

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
	setWallClock := func(b []byte, clock byte) { // once in a record, and once in a section
		is := binary.NativeEndian.AppendUint64([]byte{1, 0, 0, 0, clockMonotonic, 0, 0, 0}, uint64(wall.UnixNano()))
		require.Equal(t, 2, bytes.Count(b, is))
		for at := bytes.Index(b, is); at >= 0; at = bytes.Index(b, is) {
			b[at+4] = clock
		}
	}
	for _, c := range []struct {
		name     string
		edit     func(b []byte)
		want     Clock
		wantTime time.Time
	}{
		{"ours", func([]byte) {}, Clock{true, true}, wall},
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
		var ev reader.Event
		require.NoError(t, r.Next(&ev), c.name)
		assert.True(t, c.wantTime.Equal(ev.Time), "%s: %s", c.name, ev.Time)
		assert.EqualValues(t, uint64(5_000_000_000), ev.Monotonic, c.name)
	}
}

// FuzzOpen: the reader does not panic, and allocates no more memory than the file has data.
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
	require.NoError(f, w.Flush())
	w.begin(typeMmap2, miscUser)()
	ev := eventAt(0, "a", rawOf(1500, 1, "x"))
	ev.Callchain = []uint64{1, 2, 3}
	require.NoError(f, w.Write(ev))
	require.NoError(f, w.Write(eventAt(1, "b", rawOf(1501, 1, "x"))))
	require.NoError(f, w.Lost("user_events:b", 1, wall))
	for _, end := range []func() error{w.Flush, w.Close} { // killed, and not
		require.NoError(f, end())
		seed, err := os.ReadFile(file.Name())
		require.NoError(f, err)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Open(bytes.NewReader(b), symbols.NewRecorded())
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
