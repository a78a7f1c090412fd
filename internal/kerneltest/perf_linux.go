package kerneltest

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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

// AttachPerf opens a user event on all CPUs, for all processes. It is detached with the test.
func AttachPerf(tb testing.TB, fs *tracefs.FS, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, "user_events", event, false)
}

// AttachPerfIn is AttachPerf for an event of any system.
func AttachPerfIn(tb testing.TB, fs *tracefs.FS, system, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, system, event, false)
}

// AttachPerfOverwriting is AttachPerfIn for benchmarks: nobody has to read, as new records take
// the place of old ones. It has no Records.
func AttachPerfOverwriting(tb testing.TB, fs *tracefs.FS, system, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, system, event, true)
}

func attachPerf(tb testing.TB, fs *tracefs.FS, system, event string, overwrite bool) *Perf {
	tb.Helper()
	b, err := os.ReadFile(fs.Path("events", system, event, "id"))
	require.NoError(tb, err)
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	require.NoError(tb, err)
	p := &Perf{tb: tb, event: event}
	tb.Cleanup(p.Detach)
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	require.NoError(tb, err)
	for cpu := range max(len(cpus), runtime.NumCPU()) {
		r, err := sys.OpenPerfTracepoint(id, cpu, perfPages, overwrite)
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
