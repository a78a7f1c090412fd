package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestRoundTrip: records are read back with the names of their fields, even after the kernel has reused an event's
// number, and also if the program that recorded them was killed.
func TestRoundTrip(t *testing.T) {
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
	var f formats
	o := Options{Format: f.format, Callchain: true, CgroupID: true}
	file := writeAll(t, o, events...)
	assert.Equal(t, []string{"user_events:a", "user_events:b", "user_events:c"}, f.asked)
	checkRoundTrip(t, openFile(t, file, nil), events)

	o.Format = new(formats).format
	r, err := Open(bytes.NewBuffer(stream(t, o, events...)), nil)
	require.NoError(t, err)
	checkRoundTrip(t, r, events)
}

func checkRoundTrip(t *testing.T, r *Reader, events []*reader.Event) {
	t.Helper()
	var ev reader.Event
	for i, want := range events {
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, want.Name, ev.Name)
		assert.Equal(t, want.System, ev.System)
		assert.Equal(t, want.Monotonic, ev.Monotonic)
		assert.True(t, want.Time.Equal(ev.Time), ev.Time)
		assert.Equal(t, []any{want.PID, want.TID, want.CPU, want.CgroupID}, []any{ev.PID, ev.TID, ev.CPU, ev.CgroupID})
		assert.Equal(t, len(want.Callchain), len(ev.Callchain))
		assert.Equal(t, want.Raw[2:], ev.Raw[2:len(want.Raw)])
		assert.EqualValues(t, []int{1500, 1501, 1500, 1 << 15}[i], order.Uint16(ev.Raw), "perf finds the format by it")
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

// TestEvents: events that have no record yet are at the beginning of the file.
func TestEvents(t *testing.T) {
	var f formats
	gone := errors.New("gone")
	var b bytes.Buffer
	w, err := NewWriter(&b, Options{Events: []string{"user_events:a", "user_events:gone", "user_events:b"}, Format: func(system, name string) (string, error) {
		if name == "gone" {
			return "", gone
		}
		return f.format(system, name)
	}})
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, w.Write(eventAt(uint64(i), []string{"a", "b"}[i%2], rawOf(1500+i%2, 1, ""))))
		require.NoError(t, w.Flush())
	}
	assert.ErrorIs(t, w.Write(eventAt(0, "gone", rawOf(1502, 1, ""))), gone)
	require.NoError(t, w.Close())
	assert.Equal(t, []string{"user_events:a", "user_events:b"}, f.asked)
	assert.Equal(t, 1, bytes.Count(b.Bytes(), []byte("tracing0.6")))
	r, err := Open(&b, nil)
	require.NoError(t, err)
	var ev reader.Event
	for i := range 4 {
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, []string{"a", "b"}[i%2], ev.Name)
	}
	require.ErrorIs(t, r.Next(&ev), io.EOF)
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

// BenchmarkWrite measures the cost of writing a record to the file.
func BenchmarkWrite(b *testing.B) {
	var f formats
	w, err := NewWriter(io.Discard, Options{Format: f.format})
	require.NoError(b, err)
	ev := eventAt(0, "a", rawOf(1500, 1, "hello"))
	text, err := f.format(ev.System, ev.Name)
	require.NoError(b, err)
	format, err := tracepoint.ParseFormat(text)
	require.NoError(b, err)
	ev.Decoder, err = reader.NewDecoder(ev.System, format)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(ev); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMemory: events in shared memory have neither numbers nor format files, and one name can have several declarations.
func TestMemory(t *testing.T) {
	var events []*reader.Event
	for i, declaration := range []string{"a u32 x", "a u64 y", "b u8 z"} {
		d, err := reader.NewDecoder("user_events", tracepoint.MustParse(declaration).Format())
		require.NoError(t, err)
		for range 2 {
			ev := eventAt(uint64(len(events)), d.Format().Name, make([]byte, tracepoint.CommonSize+8))
			ev.Raw[tracepoint.CommonSize], ev.TID, ev.CPU, ev.Decoder = byte(i+1), 0, -1, d
			events = append(events, ev)
		}
	}
	path := writeAll(t, Options{}, events...).Name()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(content), "name: a\nID: 32769\n")
	task := order.AppendUint64(order.AppendUint32(order.AppendUint32(nil, 812), 812), events[0].Monotonic)
	assert.Contains(t, string(content), string(task), "perf takes thread 0 for the kernel's")
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r := openFile(t, file, nil)
	for i, name := range []string{"x", "x", "y", "y", "z", "z"} {
		var ev reader.Event
		require.NoError(t, r.Next(&ev))
		require.Len(t, ev.Fields, 1)
		assert.Equal(t, name, ev.Fields[0].Name)
		assert.EqualValues(t, i/2+1, ev.Fields[0].Value.Uint64())
		assert.EqualValues(t, 1<<15+i/2, order.Uint16(ev.Raw), "perf finds the format by it")
		assert.Equal(t, []int{0, -1}, []int{int(ev.TID), ev.CPU}, "they are not known")
	}
}

// TestSize: the size of a file that is closed is known before, whatever was flushed, and so is how many of its bytes are not of records.
func TestSize(t *testing.T) {
	for _, flushes := range []bool{false, true} {
		f := create(t)
		n := 0
		w, err := NewWriter(f, Options{Hostname: "h", Command: []string{"uevents", "record"}, Format: func(_, name string) (string, error) {
			n++
			return formatOf(name, 1500+n, "status"), nil
		}})
		require.NoError(t, err)
		for i := range 2000 {
			event := min(i, 7)
			require.NoError(t, w.Write(eventAt(uint64(i), fmt.Sprint("e", event), rawOf(1501+event, uint32(i), "message"))))
			if flushes && i%100 == 0 {
				require.NoError(t, w.Flush())
			}
		}
		size, description := w.Size()
		require.NoError(t, w.Close())
		st, err := f.Stat()
		require.NoError(t, err)
		assert.InDelta(t, st.Size(), size, 1500)
		assert.InDelta(t, 2000*(sampleSize+32), size-description, 2000)
	}
}

// TestFormatOfRemoved: a record whose event the kernel has removed, or registered again, has the format by which it was decoded.
func TestFormatOfRemoved(t *testing.T) {
	format, err := tracepoint.ParseFormat(formatOf("e", 1500, "status"))
	require.NoError(t, err)
	decoder, err := reader.NewDecoder("user_events", format)
	require.NoError(t, err)
	ev := eventAt(1, "e", rawOf(1500, 200, "message"))
	removed := Options{Format: func(string, string) (string, error) { return "", fs.ErrNotExist }}
	w, err := NewWriter(create(t), removed)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(ev), fs.ErrNotExist)
	ev.Decoder = decoder
	again := Options{Format: func(string, string) (string, error) { return formatOf("e", 1501, "other"), nil }}
	for _, o := range []Options{removed, again} {
		r := openFile(t, writeAll(t, o, ev), nil)
		var got reader.Event
		require.NoError(t, r.Next(&got))
		assert.Equal(t, "status", got.Fields[0].Name)
		assert.EqualValues(t, 200, got.Fields[0].Value.Uint64())
	}
}
