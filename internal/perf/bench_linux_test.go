package perf_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkKernelWrite measures the overhead of a session for the writing program, and BenchmarkKernelRead the cost of
// a record for the tool, without the write.
func BenchmarkKernelWrite(b *testing.B) {
	ev, _ := benchSession(b)
	rec := make([]byte, 20)
	for b.Loop() {
		_, _ = ev.WriteRecord(rec) // benchSession checks that it works
	}
}

func BenchmarkKernelWriteAndRead(b *testing.B) {
	ev, s := benchSession(b)
	rec := make([]byte, 20)
	var r perf.Record
	const batch = 100
	for b.Loop() {
		for range batch {
			_, _ = ev.WriteRecord(rec)
		}
		require.NoError(b, s.Flush())
		n := 0
		for s.ReadInto(&r) == nil {
			n++
		}
		require.Equal(b, batch, n)
	}
}

func benchSession(b *testing.B) (*uevents.Event, *perf.Session) {
	b.Helper()
	fs := kerneltest.Require(b)
	p, err := uevents.Open(nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, p.Close()) })
	ev, err := p.Register(tracepoint.MustParse(newName()+" u64 seq; u64 writer"), nil)
	require.NoError(b, err)
	s, err := perf.Open(fs, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	_, err = s.Attach(ev.Name(), nil)
	require.NoError(b, err)
	written, err := ev.WriteRecord(make([]byte, 20))
	require.NoError(b, err)
	require.True(b, written)
	require.NoError(b, s.Flush())
	var r perf.Record
	require.NoError(b, s.ReadInto(&r))
	require.ErrorIs(b, s.ReadInto(&r), perf.ErrFlushed)
	return ev, s
}
