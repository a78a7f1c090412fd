package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func words[T uint32 | uint64](list ...T) []byte {
	b, err := binary.Append(nil, order, list)
	if err != nil {
		panic(err)
	}
	return b
}

// mmap2 adds a mapping of a file to a process, at the time of an event.
func mmap2(r *Recording, pid int32, m *symbols.Mapping, at *record.Record) {
	b := append(words(uint32(pid), uint32(pid)), words(m.Start, m.End-m.Start, m.Offset)...)
	b = append(append(b, words[uint32](8, 1)...), words(m.Inode, 0)...)
	b = append(append(b, words[uint32](5, 2)...), m.Path...)
	b = append(b, make([]byte, 8-len(m.Path)%8)...)
	r.Record(typeMmap2, 0, append(b, trailer(pid, pid, at.Monotonic, 0)...))
}

var mapping = symbols.Mapping{Start: 0x1000, End: 0x2000, Offset: 0x400, Device: "08:01", Inode: 7, Path: "/usr/bin/myapp"}

// TestMappings: a process has the mappings of the file, so that its stacks can be resolved.
func TestMappings(t *testing.T) {
	ev := eventAt(0, "a", rawOf(1500, 1, ""))
	recording := recordingOf()
	anonymous := symbols.Mapping{Start: 0x5000, End: 0x6000, Device: "08:01", Path: "//anon"}
	for _, m := range []*symbols.Mapping{&mapping, &anonymous} {
		mmap2(recording, 812, m, ev)
	}
	recording.Add(1, ev)
	for _, content := range forms(recording) {
		table := symbols.NewRecorded()
		require.NoError(t, open(t, content, table).Next(new(record.Record)))
		assert.Equal(t, []symbols.Mapping{mapping, anonymous}, table.Mappings(812))
	}
}

// TestFork: a process that another one made has the mappings of that.
func TestFork(t *testing.T) {
	recording := recordingOf()
	at := eventAt(0, "a", rawOf(1500, 1, "x"))
	mmap2(recording, 812, &mapping, at)
	b := append(words[uint32](813, 812, 813, 812), words(at.Monotonic)...) // the child is 813
	recording.Record(typeFork, 0, append(b, trailer(813, 813, at.Monotonic, 0)...))
	recording.Add(1, at)
	table := symbols.NewRecorded()
	require.NoError(t, open(t, recording.File(), table).Next(new(record.Record)))
	require.Len(t, table.Mappings(812), 1)
	assert.Equal(t, table.Mappings(812), table.Mappings(813))
}

// TestShortMappings: records of mappings that are shorter than their fields are left out.
func TestShortMappings(t *testing.T) {
	recording := recordingOf()
	for size := range 72 {
		recording.Record(typeMmap2, 2, bytes.Repeat([]byte{1}, size))
	}
	recording.Add(1, eventAt(0, "a", rawOf(1500, 1, "x")))
	r := open(t, recording.File(), symbols.NewRecorded())
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}

// loss is a number of lost records of an event, until a time.
type loss struct {
	name string
	n    uint64
	at   time.Time
}

// lossesOf reads all of a file.
func lossesOf(t *testing.T, content []byte) (losses []loss) {
	t.Helper()
	r := open(t, content, nil)
	r.Lost = func(name string, n uint64, at time.Time) error {
		losses = append(losses, loss{name, n, at.UTC()})
		return nil
	}
	var ev record.Record
	for {
		if err := r.Next(&ev); errors.Is(err, io.EOF) {
			assert.ErrorIs(t, r.Next(&ev), io.EOF)
			return losses
		} else if err != nil {
			require.NoError(t, err)
		}
	}
}

// TestLost: the losses of the file are reported, also those of an event without records, and of no event that it has.
func TestLost(t *testing.T) {
	recording := recordingOf(eventAt(0, "a", rawOf(1500, 1, "")))
	recording.Lost(1, 1204, wall.Add(5))
	recording.Lost(2, 3, wall.Add(7))
	recording.Lost(9, 13, wall.Add(8))
	recording.Add(1, eventAt(10, "a", rawOf(1500, 1, "")))
	for _, content := range forms(recording) {
		assert.Equal(t, []loss{{"user_events:a", 1204, wall.Add(5)}, {"user_events:b", 3, wall.Add(7)}, {"", 13, wall.Add(8)}}, lossesOf(t, content))

		r := open(t, content, nil)
		r.Lost = func(string, uint64, time.Time) error { return assert.AnError }
		var ev record.Record
		require.NoError(t, r.Next(&ev))
		require.ErrorIs(t, r.Next(&ev), assert.AnError)
		r = open(t, content, nil) // nothing is called
		require.NoError(t, r.Next(&ev))
		require.NoError(t, r.Next(&ev))
		assert.ErrorIs(t, r.Next(&ev), io.EOF)
	}
}

// TestLostSamples: what perf record adds at the end counts the records again that the kernel has counted before.
func TestLostSamples(t *testing.T) {
	recording := recordingOf(eventAt(0, "a", rawOf(1500, 1, "")), eventAt(10, "b", rawOf(1501, 1, "")))
	recording.Lost(1, 5, wall.Add(5))
	samples := func(misc uint16, id, n uint64) {
		recording.Record(typeLostSamples, misc, append(words(n), trailer(0, 0, 0, id)...))
	}
	samples(0, 1, 3)
	samples(0, 2, 7)
	samples(0, 2, 1)
	samples(miscLostSamplesBPF, 2, 100) // they were not wanted
	recording.Record(typeLostSamples, 0, nil)
	recording.Record(typeLost, 0, nil)
	assert.Equal(t, []loss{{"user_events:a", 5, wall.Add(5)}, {"user_events:b", 6, wall.Add(10)}}, lossesOf(t, recording.File()))
}

type request struct {
	Status uint16 `uevent:"status"`
}

// TestCopies: a log record that was written to two events is in the file twice, and read once.
func TestCopies(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, "myapp_request", "myapp_info")
	require.NoError(t, err)
	slog.New(h).Info("request", "status", 404)
	slog.New(h).Info("hello")
	records := tool.Records()
	require.Len(t, records, 3)

	var recording Recording
	ids := map[string]uint64{}
	for i, rec := range records {
		if ids[rec.Event] == 0 {
			text, err := k.Format(rec.Event)
			require.NoError(t, err)
			ids[rec.Event] = recording.Event("user_events", text)
		}
		recording.Add(ids[rec.Event], eventAt(uint64(i), rec.Event, append(make([]byte, tracepoint.CommonSize), rec.Payload...)))
	}
	r := open(t, recording.File(), nil)
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "myapp_request", ev.Name)
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}
