package kerneltest

import (
	"encoding/binary"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Perf is a perf session on one event: a ring buffer for each CPU.
type Perf struct {
	tb    testing.TB
	event string
	rings []*sys.PerfRing
}

// perfPages is the size of each CPU's ring buffer.
const perfPages = 64

// AttachPerf opens an event, named as for [tracefs.Instance.Event], on all CPUs, for all processes. It is detached
// with the test.
func AttachPerf(tb testing.TB, fs *tracefs.Dir, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, event, false)
}

// AttachPerfOverwriting is AttachPerf for benchmarks: new records replace old ones, so that no reader is needed. It
// has no Records.
func AttachPerfOverwriting(tb testing.TB, fs *tracefs.Dir, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, event, true)
}

func attachPerf(tb testing.TB, fs *tracefs.Dir, event string, overwrite bool) *Perf {
	tb.Helper()
	id, err := fs.Event(event).ID()
	require.NoError(tb, err)
	p := &Perf{tb: tb, event: fs.Event(event).Name()}
	tb.Cleanup(p.Detach)
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	require.NoError(tb, err)
	for cpu := range max(len(cpus), runtime.NumCPU()) {
		r, err := sys.OpenPerfTracepoint(uint64(id), cpu, perfPages, overwrite)
		require.NoError(tb, err)
		p.rings = append(p.rings, r)
	}
	return p
}

// Detach closes the session.
func (p *Perf) Detach() {
	for _, r := range p.rings {
		if err := r.Close(); err != nil {
			p.tb.Errorf("closing perf: %v", err)
		}
	}
	p.rings = nil
}

// Records consumes what is in the buffers. It fails the test if the kernel says that
// records were lost for lack of room.
func (p *Perf) Records() (records []Record) {
	p.tb.Helper()
	const sample, lost = 9, 2 // enum perf_event_type
	order := binary.NativeEndian
	for cpu, r := range p.rings {
		r.Read(func(kind uint32, body []byte) {
			switch kind {
			case sample: // PERF_SAMPLE_TIME | PERF_SAMPLE_RAW: u64 time; u32 size; char data[size]
				size := order.Uint32(body[8:])
				data := body[12 : 12+size]
				records = append(records, Record{
					Event: p.event, CPU: cpu, Time: order.Uint64(body), PID: int32(order.Uint32(data[4:])),
					Payload: append([]byte(nil), data[8:]...),
				})
			case lost:
				require.Fail(p.tb, "perf lost records", "%d", order.Uint64(body[8:]))
			}
		})
	}
	return records
}
