package perfdata

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

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
	w, file := newWriter(t)
	at := eventAt(0, "a", rawOf(1500, 1, "x"))
	w.mapping(at, &symbols.Mapping{Start: 0x1000, End: 0x2000, Device: "08:01", Inode: 7, Path: "/usr/bin/myapp"}, at.Monotonic)
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
	w, file := newWriter(t)
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
