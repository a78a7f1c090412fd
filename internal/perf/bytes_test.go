package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// record returns a record of a ring: struct perf_event_header and a body, padded to 8 bytes.
func record(kind uint32, misc uint16, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	b := order.AppendUint32(nil, kind)
	b = order.AppendUint16(b, misc)
	b = order.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

func identityBytes(pid, tid int, time uint64) []byte {
	b := order.AppendUint32(nil, uint32(pid))
	b = order.AppendUint32(b, uint32(tid))
	return order.AppendUint64(b, time)
}

// sampleBytes returns a sample whose payload is a text.
func sampleBytes(id uint64, pid, tid int, time uint64, text string) []byte {
	return record(typeSample, 0, append(sampleStart(id, pid, tid, time), rawBytes(text)...))
}

func sampleStart(id uint64, pid, tid int, time uint64) []byte {
	return append(order.AppendUint64(nil, id), identityBytes(pid, tid, time)...)
}

// rawBytes returns the data of PERF_SAMPLE_RAW: a size, 8 common bytes, and the payload, padded to 8 bytes.
func rawBytes(text string) []byte {
	data := append(make([]byte, commonSize), text...)
	for (len(data)+4)%8 != 0 {
		data = append(data, 0)
	}
	return append(order.AppendUint32(nil, uint32(len(data))), data...)
}

// otherBytes returns a record of another type, with its trailer.
func otherBytes(kind uint32, misc uint16, id uint64, time uint64, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	return record(kind, misc, order.AppendUint64(append(body, identityBytes(1, 2, time)...), id))
}

func words(list ...uint32) (b []byte) {
	for _, w := range list {
		b = order.AppendUint32(b, w)
	}
	return b
}

// fakeTracefs is a directory with the files that a session reads.
type fakeTracefs struct {
	t   *testing.T
	dir string
	ids int
}

func newFakeTracefs(t *testing.T) *fakeTracefs {
	f := &fakeTracefs{t: t, dir: t.TempDir()}
	f.status()
	return f
}

// add adds an event and returns its id.
func (f *fakeTracefs) add(system, name string) int {
	f.t.Helper()
	f.ids++
	dir := filepath.Join(f.dir, "events", system, name)
	require.NoError(f.t, os.MkdirAll(dir, 0o700))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "id"), []byte(strconv.Itoa(f.ids)+"\n"), 0o600))
	return f.ids
}

// status writes user_events_status.
func (f *fakeTracefs) status(names ...string) {
	f.t.Helper()
	text := ""
	for _, name := range names {
		text += name + "\n"
	}
	text += fmt.Sprintf("\nActive: %d\nBusy: 0\n", len(names))
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, "user_events_status"), []byte(text), 0o600))
}
