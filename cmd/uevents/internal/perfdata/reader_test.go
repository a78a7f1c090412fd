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
		require.Equal(t, uint64(5_000_000_000+i), ev.Monotonic)
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

// TestCutRecord: the records before one that is cut are read.
func TestCutRecord(t *testing.T) {
	w, file := newWriter(t)
	require.NoError(t, w.Write(eventAt(0, "a", rawOf(1500, 1, ""))))
	require.NoError(t, w.Write(eventAt(10, "a", rawOf(1500, 1, ""))))
	at := w.offset + uint64(len(w.buf))
	w.buf = order.AppendUint32(w.buf, typeSample)
	w.buf = order.AppendUint32(w.buf, 1000<<16)
	require.NoError(t, w.Close())
	r := openFile(t, file, nil)
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	require.NoError(t, r.Next(&ev))
	err := r.Next(&ev)
	require.ErrorIs(t, err, errFormat)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.ErrorContains(t, err, fmt.Sprintf("its record at byte %d is cut", at))
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
		"another byte order": change(0, []byte(otherMagic)...),
		"to a pipe":          change(8, 16, 0),
		"did not end":        change(24, make([]byte, 32)...),
		"at":                 good[:len(good)-40],
	} {
		_, err := Open(bytes.NewReader(b), int64(len(b)), nil)
		assert.ErrorIs(t, err, errFormat, name)
		assert.ErrorContains(t, err, name)
	}
}

// TestNoRecords: a recording without records is read, and one whose program was killed is not.
func TestNoRecords(t *testing.T) {
	var f formats
	r := openFile(t, writeAll(t, Options{Format: f.format}), nil)
	require.ErrorIs(t, r.Next(new(reader.Event)), io.EOF)
	require.ErrorIs(t, r.Next(new(reader.Event)), io.EOF)
	assert.Equal(t, Clock{Monotonic: true, WallTime: true}, r.Clock())

	file := create(t)
	_, err := NewWriter(file, Options{Format: f.format})
	require.NoError(t, err)
	st, err := file.Stat()
	require.NoError(t, err)
	_, err = Open(file, st.Size(), nil)
	assert.ErrorContains(t, err, notEnded)
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
