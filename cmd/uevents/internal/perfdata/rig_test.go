package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// newWriter returns a writer of a new file.
func newWriter(t *testing.T) (*Writer, *os.File) {
	t.Helper()
	file := create(t)
	w, err := NewWriter(file, Options{Format: new(formats).format})
	require.NoError(t, err)
	return w, file
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

// openFile reads a file from its beginning, also one that is being written.
func openFile(t *testing.T, written *os.File, table *symbols.Table) *Reader {
	t.Helper()
	f, err := os.Open(written.Name())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	r, err := Open(f, table)
	require.NoError(t, err)
	return r
}

// stream returns the file of a program that was killed after it had written events, each at a time of its own.
func stream(t *testing.T, o Options, events ...*reader.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, o)
	require.NoError(t, err)
	for _, ev := range events {
		require.NoError(t, w.Write(ev))
		require.NoError(t, w.Flush())
	}
	return b.Bytes()
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
