package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata/perfdatatest"
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

// eventAt returns an event to write, at a number of nanoseconds.
func eventAt(ns uint64, name string, raw []byte) *reader.Event {
	return &reader.Event{
		System: "user_events", Name: name, Raw: raw, PID: 812, TID: 815, CPU: 3,
		Monotonic: 5_000_000_000 + ns, Time: wall.Add(time.Duration(ns)),
	}
}

// recordingOf returns a recording of the events a, whose number is 1500 and whose id is 1, and b.
func recordingOf(events ...*reader.Event) *perfdatatest.Recording {
	r := &perfdatatest.Recording{}
	add(r, events...)
	return r
}

// add adds the events a and b, and records of them.
func add(r *perfdatatest.Recording, events ...*reader.Event) {
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
func forms(r *perfdatatest.Recording) [][]byte { return [][]byte{r.File(), r.Stream()} }
