package perfdata

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata/perfdatatest"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

func words[T uint32 | uint64](list ...T) []byte {
	b, err := binary.Append(nil, order, list)
	if err != nil {
		panic(err)
	}
	return b
}

// mmap2 adds a mapping of a file to a process, at the time of an event.
func mmap2(r *perfdatatest.Recording, pid int32, m *symbols.Mapping, at *reader.Event) {
	b := append(words(uint32(pid), uint32(pid)), words(m.Start, m.End-m.Start, m.Offset)...)
	b = append(append(b, words[uint32](8, 1)...), words(m.Inode, 0)...)
	b = append(append(b, words[uint32](5, 2)...), m.Path...)
	b = append(b, make([]byte, 8-len(m.Path)%8)...)
	r.Record(perfdatatest.Mmap2, 0, append(b, perfdatatest.Trailer(pid, pid, at.Monotonic, 0)...))
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
		require.NoError(t, open(t, content, table).Next(new(reader.Event)))
		assert.Equal(t, []symbols.Mapping{mapping, anonymous}, table.Mappings(812))
	}
}

// TestFork: a process that another one made has the mappings of that.
func TestFork(t *testing.T) {
	recording := recordingOf()
	at := eventAt(0, "a", rawOf(1500, 1, "x"))
	mmap2(recording, 812, &mapping, at)
	b := append(words[uint32](813, 812, 813, 812), words(at.Monotonic)...) // the child is 813
	recording.Record(perfdatatest.Fork, 0, append(b, perfdatatest.Trailer(813, 813, at.Monotonic, 0)...))
	recording.Add(1, at)
	table := symbols.NewRecorded()
	require.NoError(t, open(t, recording.File(), table).Next(new(reader.Event)))
	require.Len(t, table.Mappings(812), 1)
	assert.Equal(t, table.Mappings(812), table.Mappings(813))
}

// TestShortMappings: records of mappings that are shorter than their fields are left out.
func TestShortMappings(t *testing.T) {
	recording := recordingOf()
	for _, kind := range []uint32{perfdatatest.Mmap, perfdatatest.Mmap2} {
		for size := range 72 {
			recording.Record(kind, 2, bytes.Repeat([]byte{1}, size))
		}
	}
	recording.Add(1, eventAt(0, "a", rawOf(1500, 1, "x")))
	r := open(t, recording.File(), symbols.NewRecorded())
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}
