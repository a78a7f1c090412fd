//go:build unix

package usereventsreceiver

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// repeated is a source of one record, many times.
type repeated struct {
	machineSource
	record reader.Undecoded
	raw    []byte
	left   int
	end    sync.Once
	done   chan struct{} // closed after the last one
}

func (s *repeated) NextUndecoded(u *reader.Undecoded) ([]byte, error) {
	if s.left == 0 {
		s.end.Do(func() { close(s.done) })
		return nil, io.EOF // the receiver opens it again, until it is shut down
	}
	s.left--
	*u = s.record
	return s.raw, nil
}

func (s *repeated) SetDeadline(time.Time)            {}
func (s *repeated) State() reader.State              { return reader.State{} }
func (s *repeated) Select(...reader.Selection) error { return nil }
func (s *repeated) Stats() (reader.Stats, error)     { return reader.Stats{}, nil }
func (s *repeated) Stop() error                      { return nil }
func (s *repeated) Close() error                     { return nil }

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReceiver moves log records with five attributes from a source to a consumer that discards them. It reports the processor time of
// a record, with that of the garbage collection. What the kernel and package perf do is not included.
func BenchmarkReceiver(b *testing.B) {
	sample := recordtest.Samples(b, func(b testing.TB, p *uevents.Provider) func() {
		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
		require.NoError(b, err)
		return func() {
			slog.New(h).Info("request served", "method", "GET", "route", "/users/{id}", "status", 200, "latency", 1500*time.Microsecond, "user", "41")
		}
	})[0]
	for _, mapping := range []Mapping{mappingAuto, mappingRaw} {
		b.Run(string(mapping), func(b *testing.B) {
			src := &repeated{left: b.N, done: make(chan struct{}), record: reader.Undecoded{
				Time: time.Now(), Monotonic: 1, PID: 812, TID: 815,
				Process: &record.Process{PID: 812, Exe: "/usr/bin/myapp"}, Decoder: sample.Decoder,
			}, raw: sample.Raw}
			cfg := defaultConfig()
			cfg.Mapping = mapping
			r, err := newFactory(func(*reader.Options) (source, error) { return src, nil }).CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(src.raw)))
			before := processorTime(b)
			require.NoError(b, r.Start(context.Background(), newHost()))
			<-src.done
			require.NoError(b, r.Shutdown(context.Background()))
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "ns/op")
		})
	}
}
