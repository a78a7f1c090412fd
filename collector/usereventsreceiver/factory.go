// Package usereventsreceiver is a receiver of the OpenTelemetry Collector for Linux user_events: it collects the log
// records, spans and metrics that programs of any language write to tracepoints, or to shared memory where the kernel has
// none. [NewFactory] is for the Collector's builder; README.md describes the configuration.
//
// One session of package reader serves the receivers of all signals. One goroutine moves records from the rings of the
// kernel and of programs to a queue of bounded memory. Another one decodes them, converts them with package reader/otlp,
// whose comment has the mapping, and delivers batches. While consumers are slow the queue fills, then the rings, and then
// lost records are counted.
package usereventsreceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
)

//go:generate sh generate.sh

// NewFactory returns the factory of the receiver, for the Collector's configuration and builder. The receivers of all
// signals of one configuration share a session: they are started and shut down together.
func NewFactory() receiver.Factory { return newFactory(openReader) }

// newFactory returns a factory of receivers that open their source of events with open.
func newFactory(open opener) receiver.Factory {
	s := &shared{open: open, sessions: map[*Config]*session{}}
	return receiver.NewFactory(metadata.Type, func() component.Config { return defaultConfig() },
		receiver.WithLogs(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Logs) (receiver.Logs, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.logs.connect(set, next, next.ConsumeLogs) })
		}, metadata.LogsStability),
		receiver.WithTraces(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Traces) (receiver.Traces, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.traces.connect(set, next, next.ConsumeTraces) })
		}, metadata.TracesStability),
		receiver.WithMetrics(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Metrics) (receiver.Metrics, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.metrics.connect(set, next, next.ConsumeMetrics) })
		}, metadata.MetricsStability))
}

// shared has the session of each configuration, which the receivers of up to three signals share. The Collector creates
// all of them before it starts the first one, and shuts all of them down before their consumers.
type shared struct {
	open opener

	mu       sync.Mutex
	sessions map[*Config]*session
}

// get returns the session of a configuration, and creates it if it does not exist. add gives it the consumer of a signal.
func (s *shared) get(set receiver.Settings, cfg *Config, add func(*outputs) error) (*session, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[cfg]
	if ses == nil {
		var err error
		if ses, err = newSession(set, cfg, s.open); err != nil {
			return nil, err
		}
		ses.forget = func() { s.forget(cfg, ses) }
		s.sessions[cfg] = ses
	}
	return ses, add(&ses.outputs)
}

// forget removes a session that is shut down. The next receiver of the configuration gets a new one.
func (s *shared) forget(cfg *Config, ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[cfg] == ses {
		delete(s.sessions, cfg)
	}
}
