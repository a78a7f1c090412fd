package usereventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var errBusy = errors.New("busy")

// TestRetry: data that a consumer refuses is delivered again, unchanged even by a consumer that changes it, and in order.
func TestRetry(t *testing.T) {
	for _, mutates := range []bool{false, true} {
		t.Run(fmt.Sprint("mutates=", mutates), func(t *testing.T) {
			m := newMachine(t, nil)
			l := m.logger("myapp")
			attempts := 0
			s := &sink{mutates: mutates, refuse: func(l plog.Logs) error {
				if attempts++; attempts%3 == 0 {
					return nil
				}
				if mutates {
					l.ResourceLogs().RemoveIf(func(plog.ResourceLogs) bool { return true })
				}
				return errBusy
			}}
			cfg := fast()
			cfg.Batch.MaxRecords = 2
			r, telemetry := m.start(cfg, s)
			for i := range 5 {
				l.Info(fmt.Sprint(i))
			}
			require.NoError(t, r.Shutdown(t.Context()))
			assert.Equal(t, []string{"0", "1", "2", "3", "4"}, s.bodies())
			assert.Equal(t, int64(5), counter(t, telemetry, "accepted_log_records"))
			assert.Zero(t, counter(t, telemetry, "refused_log_records"))
		})
	}
}

// TestRetryPart: if a consumer says which part of the data it refused, only that is delivered again.
func TestRetryPart(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	first := true
	s := new(sink)
	s.refuse = func(l plog.Logs) error {
		if !first {
			return nil
		}
		first = false
		rest := plog.NewLogs()
		l.CopyTo(rest)
		rest.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().RemoveIf(func(lr plog.LogRecord) bool { return lr.Body().Str() != "two" })
		return consumererror.NewLogs(errBusy, rest)
	}
	cfg := fast()
	cfg.Batch.Timeout = time.Minute
	r, telemetry := m.start(cfg, s)
	l.Info("one")
	l.Info("two")
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []string{"two"}, s.bodies()) // the test's consumer kept nothing of the other
	assert.Equal(t, int64(2), counter(t, telemetry, "accepted_log_records"))
}

// TestShutdownWhileOpening: records are delivered that were written after the events were enabled, and before the receiver knew it.
func TestShutdownWhileOpening(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	opened := make(chan struct{})
	var stopping <-chan struct{} // closed when Shutdown has looked for a source
	m.factory = newFactory(func(o *reader.Options) (source, error) {
		src, err := m.open(o)
		close(opened)
		<-stopping
		return src, err
	})
	s := new(sink)
	telemetry := componenttest.NewTelemetry()
	r, err := m.factory.CreateLogs(t.Context(), newSettings(telemetry), fast(), s)
	require.NoError(t, err)
	stopping = r.(*session).stopping
	require.NoError(t, r.Start(t.Context(), newHost()))
	<-opened
	l.Info("one")
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []string{"one"}, s.bodies())
	assert.NoError(t, telemetry.Shutdown(t.Context()))
}

// TestDropped: data that is refused for good is dropped and counted, with the reason and by event.
func TestDropped(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		change func(*Config)
		reason string
	}{
		{"permanent", consumererror.NewPermanent(errBusy), func(*Config) {}, reasonPermanent},
		{"no more time", errBusy, func(c *Config) { c.RetryOnFailure.MaxElapsedTime = 20 * time.Millisecond }, reasonRetry},
		{"no retries", errBusy, func(c *Config) { c.RetryOnFailure.Enabled = false }, reasonRetry},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, nil)
			l := m.logger("myapp")
			s := &sink{refuse: func(plog.Logs) error { return c.err }}
			cfg := fast()
			cfg.Batch.Timeout = time.Minute
			c.change(cfg)
			r, telemetry := m.start(cfg, s)
			for range 3 {
				l.Info("hello")
				l.Warn("careful")
			}
			l.Info("hello")
			require.NoError(t, r.Shutdown(t.Context()))
			assert.Empty(t, s.bodies())
			dropped := func(event string) int64 {
				return counter(t, telemetry, "user_events_dropped_records", attribute.String("event", event), attribute.String("reason", c.reason))
			}
			assert.Equal(t, int64(4), dropped("user_events:myapp_info"))
			assert.Equal(t, int64(3), dropped("user_events:myapp_warn"))
			assert.Equal(t, int64(7), counter(t, telemetry, "user_events_dropped_records"))
			assert.Equal(t, int64(7), counter(t, telemetry, "refused_log_records"))
		})
	}
}

// TestShutdownDeadline: Shutdown returns when its context ends, and what a stuck consumer did not take is counted.
func TestShutdownDeadline(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	r, telemetry := m.start(fast(), &sink{refuse: func(plog.Logs) error { return errBusy }})
	for range 10 {
		l.Info("hello")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) //nolint:forbidigo // a deadline, before which nothing is delivered
	defer cancel()
	require.ErrorIs(t, r.Shutdown(ctx), context.DeadlineExceeded)
	assert.Equal(t, int64(10), counter(t, telemetry, "user_events_dropped_records", attribute.String("reason", reasonShutdown), attribute.String("event", "user_events:myapp_info")))
}

// TestShutdownBlocked: Shutdown ends although its context does not and a consumer is blocked, as by an exporter's full queue. What was
// not delivered is counted.
func TestShutdownBlocked(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	blocked := make(chan struct{})
	block := sync.OnceFunc(func() { close(blocked) })
	next, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		block()
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	r, telemetry := m.start(fast(), next)
	r.(*session).patience = 50 * time.Millisecond
	for range 10 {
		l.Info("hello")
	}
	<-blocked
	require.ErrorIs(t, r.Shutdown(context.Background()), errShutdownEnds)
	assert.Equal(t, int64(10), counter(t, telemetry, "user_events_dropped_records", attribute.String("reason", reasonShutdown), attribute.String("event", "user_events:myapp_info")))
}

// TestShutdownDetaching: Shutdown leaves it to the kernel to detach from many events, so that exporters send what they have before the
// process is killed. All records are delivered and counted before.
func TestShutdownDetaching(t *testing.T) {
	m := newMachine(t, nil)
	m.detaching = make(chan struct{})
	l := m.logger("myapp")
	var logs consumertest.LogsSink
	r, telemetry := m.start(fast(), &logs)
	shutdownDetach = 0
	t.Cleanup(func() { shutdownDetach = testscale.Patience })
	l.Info("hello")
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, 1, logs.LogRecordCount())
	assert.Equal(t, int64(1), counter(t, telemetry, "user_events_read_records"))
	ses := r.(*session)
	select {
	case <-ses.done:
		assert.Fail(t, "Shutdown has waited")
	default:
	}
	close(m.detaching)
	<-ses.done
}

// TestScrape: the receiver's own metrics do not make it ask the kernel about each event on each processor.
func TestScrape(t *testing.T) {
	m := newMachine(t, nil)
	m.logger("myapp")
	_, telemetry := m.start(fast(), consumertest.NewNop())
	metric, err := telemetry.GetMetric("otelcol_receiver_user_events_attached_events")
	require.NoError(t, err)
	assert.Equal(t, int64(len(m.simulated.Events())), metric.Data.(metricdata.Gauge[int64]).DataPoints[0].Value)
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Zero(t, m.counted)
}

// TestBackpressure: while a consumer is blocked, the memory of the queue has its limit, and the kernel counts what is lost.
// Every record is accepted, lost or dropped.
func TestBackpressure(t *testing.T) {
	for _, gaveUp := range []bool{false, true} {
		t.Run(fmt.Sprint("gaveUp=", gaveUp), func(t *testing.T) {
			m := newMachine(t, &ueventstest.Options{BufferSize: 64 << 10})
			l := m.logger("myapp")
			release := make(chan struct{})
			unblock := sync.OnceFunc(func() { close(release) })
			defer unblock()
			var calls atomic.Int64
			s := &sink{refuse: func(plog.Logs) error {
				if calls.Add(1) == 1 {
					<-release
				}
				if gaveUp {
					return errBusy
				}
				return nil
			}}
			cfg := fast()
			cfg.BudgetMiB, cfg.Batch.MaxRecords, cfg.RetryOnFailure.MaxElapsedTime = 8, 1000, time.Millisecond
			r, telemetry := m.start(cfg, s)
			written := int64(0)
			lost := func() int64 {
				return counter(t, telemetry, "user_events_lost_records", attribute.String("event", "user_events:myapp_info"))
			}
			for lost() == 0 { // the queue and the rings are full at some time
				for range 1000 {
					l.Info("a message of some length, so that the rings and the queue fill up", "n", written)
					written++
				}
			}
			ses := r.(*session)
			assert.LessOrEqual(t, ses.queue.size(), 1<<20)
			unblock()
			require.NoError(t, r.Shutdown(t.Context()))
			accepted, dropped := counter(t, telemetry, "accepted_log_records"), counter(t, telemetry, "user_events_dropped_records")
			assert.Equal(t, written, accepted+counter(t, telemetry, "user_events_lost_records")+dropped)
			assert.Equal(t, accepted, int64(s.LogRecordCount()))
			assert.Equal(t, gaveUp, dropped > 0)
		})
	}
}

// TestFanOut: a pipeline that has accepted a part of the data says nothing of another one, which gets all of it again, and a pipeline that
// refuses data for good takes none from another one.
func TestFanOut(t *testing.T) {
	for name, first := range map[string]func(plog.Logs) error{
		"part":      func(plog.Logs) error { return consumererror.NewLogs(errBusy, plog.NewLogs()) },
		"permanent": func(plog.Logs) error { return consumererror.NewPermanent(errBusy) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil)
			l := m.logger("myapp")
			attempts := 0
			s := &sink{refuse: func(l plog.Logs) error {
				if attempts++; attempts == 1 {
					return errors.Join(first(l), errBusy)
				}
				return nil
			}}
			cfg := fast()
			cfg.Batch.MaxRecords = 2
			r, telemetry := m.start(cfg, s)
			l.Info("a")
			l.Info("b")
			require.NoError(t, r.Shutdown(t.Context()))
			assert.Equal(t, []string{"a", "b"}, s.bodies())
			assert.Equal(t, int64(2), counter(t, telemetry, "accepted_log_records"))
			assert.Zero(t, counter(t, telemetry, "refused_log_records"))
		})
	}
}

func TestIsPermanent(t *testing.T) {
	permanent := consumererror.NewPermanent(errBusy)
	for err, want := range map[error]bool{
		errBusy: false, permanent: true, errors.Join(permanent, permanent): true, errors.Join(permanent, errBusy): false,
		consumererror.NewPermanent(errors.Join(errBusy, errBusy)): true, fmt.Errorf("x: %w", consumererror.NewPermanent(fmt.Errorf("%w: %w", errBusy, errBusy))): true,
		fmt.Errorf("x: %w", errors.Join(permanent)): true, fmt.Errorf("x: %w", errors.Join(errBusy, permanent)): false,
	} {
		assert.Equal(t, want, isPermanent(err), err)
	}
}

// TestRetryEnds: retries end with success, with a permanent error, and when their time is over.
func TestRetryEnds(t *testing.T) {
	permanent := consumererror.NewPermanent(errors.New("never"))
	c := configretry.BackOffConfig{
		Enabled: true, InitialInterval: time.Millisecond, MaxInterval: 4 * time.Millisecond, MaxElapsedTime: 50 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.5,
	}
	for name, f := range map[string]struct {
		results []error
		want    error
	}{
		"success":   {[]error{errBusy, errBusy, nil}, nil},
		"permanent": {[]error{errBusy, permanent}, permanent},
		"time":      {nil, errRetriesEnded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetry(c, nil)
				calls, start := 0, time.Now()
				err := r.do(func() error {
					if calls++; f.results == nil {
						return errBusy
					}
					return f.results[calls-1]
				})
				assert.ErrorIs(t, err, f.want)
				if f.results == nil {
					assert.ErrorIs(t, err, errBusy)
					assert.LessOrEqual(t, time.Since(start), c.MaxElapsedTime) //nolint:forbidigo // synctest
					assert.GreaterOrEqual(t, calls, 8)
					return
				}
				assert.Equal(t, len(f.results), calls)
			})
		})
	}
}

// TestRetryAtShutdown: a shutdown makes the next attempt follow at once, and soon ends the retries.
func TestRetryAtShutdown(t *testing.T) {
	r := newRetry(configretry.BackOffConfig{Enabled: true, InitialInterval: time.Hour, MaxInterval: time.Hour, MaxElapsedTime: 2 * time.Hour, Multiplier: 1}, nil)
	done, calls := make(chan error, 1), make(chan int, 10)
	go func() {
		done <- r.do(func() error { calls <- 0; return errBusy })
	}()
	<-calls
	r.limit(0)
	err := <-done
	assert.ErrorIs(t, err, errRetryStopped)
	assert.ErrorIs(t, err, errBusy)
	assert.LessOrEqual(t, len(calls), 1)
}

// TestRetryIntervals: the intervals grow by the multiplier up to the longest, with the spread that is configured.
func TestRetryIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetry(configretry.BackOffConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: 40 * time.Second, Multiplier: 3}, nil)
		start := time.Now()
		var at []time.Duration
		assert.ErrorIs(t, r.do(func() error {
			at = append(at, time.Since(start)) //nolint:forbidigo // synctest
			return errBusy
		}), errRetriesEnded)
		assert.Equal(t, []time.Duration{0, time.Second, 4 * time.Second, 13 * time.Second, 23 * time.Second, 33 * time.Second}, at)
	})
}
