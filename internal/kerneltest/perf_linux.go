package kerneltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// Perf is a perf session on one event.
type Perf struct {
	tb      testing.TB
	session *perf.Session
}

// AttachPerf opens an event, named as for [tracefs.Instance.Event], on all CPUs, for all processes. It is detached
// with the test.
func AttachPerf(tb testing.TB, fs *tracefs.Dir, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, event, nil)
}

// AttachPerfOverwriting is AttachPerf for benchmarks: new records replace old ones, so that no reader is needed. It
// has no Records.
func AttachPerfOverwriting(tb testing.TB, fs *tracefs.Dir, event string) *Perf {
	tb.Helper()
	return attachPerf(tb, fs, event, &perf.Options{Overwrite: true})
}

func attachPerf(tb testing.TB, fs *tracefs.Dir, event string, o *perf.Options) *Perf {
	tb.Helper()
	s, err := perf.Open(fs, o)
	require.NoError(tb, err)
	p := &Perf{tb: tb, session: s}
	tb.Cleanup(p.Detach)
	_, err = s.Attach(event, nil)
	require.NoError(tb, err)
	return p
}

// Detach closes the session.
func (p *Perf) Detach() {
	if err := p.session.Close(); err != nil {
		p.tb.Errorf("closing perf: %v", err)
	}
}

// Records consumes what is in the buffers. It fails the test if the kernel says that
// records were lost for lack of room.
func (p *Perf) Records() (records []Record) {
	p.tb.Helper()
	require.NoError(p.tb, p.session.Flush())
	for r := (live.Record{}); ; {
		err := p.session.ReadInto(&r)
		if err == perf.ErrFlushed { //nolint:errorlint // it is returned as it is
			break
		}
		require.NoError(p.tb, err)
		records = append(records, Record{
			Event: r.Tag.(*perf.Source).Event().Name(), CPU: r.CPU, Time: r.Monotonic, PID: r.TID,
			Payload: append([]byte(nil), r.Raw[tracepoint.CommonSize:]...),
		})
	}
	stats, err := p.session.Stats()
	require.NoError(p.tb, err)
	require.Zero(p.tb, stats.Total().Lost, "perf lost records")
	return records
}
