package usereventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v7"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader/otlp"
)

type obsReport = receiverhelper.ObsReport

type output[T any] struct {
	signal  string
	take    func(*otlp.Converter) T
	count   func(T) int
	clone   func(T) T
	begin   func(*obsReport, context.Context) context.Context
	end     func(report *obsReport, ctx context.Context, format string, n int, err error)
	report  *obsReport                     // for the Collector's own telemetry
	consume func(context.Context, T) error // nil if no pipeline of the signal has the receiver
	mutates bool                           // consume may change the data
}

// format is the name of the data's origin in the Collector's own spans.
const format = "user_events"

var errNoPipeline = errors.New("no pipeline of the signal has the receiver")

// deliver delivers what the converter has. It returns how many records were not delivered, and why. If that is only a part
// of the data, parts is true.
func (o *output[T]) deliver(ctx context.Context, c *otlp.Converter, r *retry) (dropped int, parts bool, err error) {
	data := o.take(c)
	n := o.count(data)
	if n == 0 {
		return 0, false, nil
	}
	if o.consume == nil {
		return n, false, errNoPipeline
	}
	op := o.begin(o.report, ctx)
	err = r.do(func() error {
		if err := ctx.Err(); err != nil {
			return errors.Join(errRetryStopped, err)
		}
		err := o.attempt(op, data)
		// The consumer may have accepted a part. That of one of several says nothing of the others.
		if rest, ok := errors.AsType[partial[T]](err); ok && len(members(err)) == 1 {
			if left := o.count(rest.Data()); left > 0 && left < n {
				o.end(o.report, op, format, n-left, nil)
				op, n, parts = o.begin(o.report, ctx), left, true
			}
			data = rest.Data()
		}
		return err
	})
	o.end(o.report, op, format, n, err)
	if err == nil {
		return 0, false, nil
	}
	return n, parts, err
}

// partial is an error with the data that was not delivered.
type partial[T any] interface {
	error
	Data() T
}

// attempt delivers data once. It keeps the data unchanged for another attempt.
func (o *output[T]) attempt(ctx context.Context, data T) error {
	if o.mutates {
		data = o.clone(data)
	}
	return o.consume(ctx, data)
}

// connect sets the consumer of the signal.
func (o *output[T]) connect(
	set receiver.Settings, next interface{ Capabilities() consumer.Capabilities }, consume func(context.Context, T) error,
) error {
	report, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set, LongLivedCtx: true})
	if err == nil {
		o.report, o.consume, o.mutates = report, consume, next.Capabilities().MutatesData
	}
	return err
}

type outputs struct {
	logs      output[plog.Logs]
	traces    output[ptrace.Traces]
	metrics   output[pmetric.Metrics]
	retry     retry
	logger    *zap.Logger
	telemetry *telemetry
}

// init sets what does not depend on consumers.
func (o *outputs) init() {
	o.logs = output[plog.Logs]{
		signal: "logs", take: (*otlp.Converter).TakeLogs, count: plog.Logs.LogRecordCount,
		clone: clone(plog.NewLogs, plog.Logs.CopyTo), begin: (*obsReport).StartLogsOp, end: (*obsReport).EndLogsOp,
	}
	o.traces = output[ptrace.Traces]{
		signal: "traces", take: (*otlp.Converter).TakeTraces, count: ptrace.Traces.SpanCount,
		clone: clone(ptrace.NewTraces, ptrace.Traces.CopyTo), begin: (*obsReport).StartTracesOp, end: (*obsReport).EndTracesOp,
	}
	o.metrics = output[pmetric.Metrics]{
		signal: "metrics", take: (*otlp.Converter).TakeMetrics, count: pmetric.Metrics.DataPointCount,
		clone: clone(pmetric.NewMetrics, pmetric.Metrics.CopyTo), begin: (*obsReport).StartMetricsOp, end: (*obsReport).EndMetricsOp,
	}
}

func clone[T any](create func() T, copyTo func(from, to T)) func(T) T {
	return func(from T) T {
		to := create()
		copyTo(from, to)
		return to
	}
}

// Reasons of dropped records.
const (
	reasonPermanent  = "permanent"
	reasonRetry      = "retry"
	reasonNoPipeline = "no_pipeline"
	reasonMalformed  = "malformed"
	reasonShutdown   = "shutdown"
)

func reasonOf(err error) string {
	switch {
	case errors.Is(err, errNoPipeline):
		return reasonNoPipeline
	case errors.Is(err, errRetryStopped):
		return reasonShutdown
	case isPermanent(err):
		return reasonPermanent
	}
	return reasonRetry
}

// drop counts records of an event that are not delivered.
func (o *outputs) drop(event, reason string, n int) {
	o.telemetry.ReceiverUserEventsDroppedRecords.Add(context.Background(), int64(n),
		o.telemetry.with(eventAttribute(event), attribute.String("reason", reason)))
}

// deliver delivers the data of a signal, and counts what is dropped by the events that the batch has.
func deliver[T any](ctx context.Context, os *outputs, o *output[T], c *otlp.Converter, b *batch) {
	dropped, parts, err := o.deliver(ctx, c, &os.retry)
	if err != nil {
		reason := reasonOf(err)
		if reason != reasonNoPipeline {
			os.logger.Error("data is dropped", zap.String("signal", o.signal), zap.Int("records", dropped), zap.Error(err))
		}
		if parts { // it is not known which
			os.drop("", reason, dropped)
		} else {
			for event, n := range b.events() {
				os.drop(event, reason, n)
			}
		}
	}
	b.reset()
}

// members returns the errors of the consumers behind a fan-out, if there are several, else the error alone.
func members(err error) []error {
	for e := err; e != nil; {
		switch u := e.(type) { //nolint:errorlint // it looks for joined errors itself
		case interface{ Unwrap() []error }:
			if list := u.Unwrap(); len(list) > 1 {
				return list
			} else if len(list) == 1 {
				e = list[0]
				continue
			}
			return []error{err}
		case interface{ Unwrap() error }:
			inner := u.Unwrap()
			if consumererror.IsPermanent(e) && !consumererror.IsPermanent(inner) { // one consumer's, of whatever it joins
				return []error{err}
			}
			e = inner
		default:
			return []error{err}
		}
	}
	return []error{err}
}

// isPermanent reports whether all consumers that refused data have done so for good. Those that may take it later get it again, and so do the
// others of the fan-out.
func isPermanent(err error) bool {
	return !slices.ContainsFunc(members(err), func(err error) bool { return !consumererror.IsPermanent(err) })
}

type retry struct {
	configretry.BackOffConfig
	stop <-chan struct{} // ends all retries

	limited chan struct{} // closed by limit
	end     time.Time     // of all retries; set before limited is closed
}

func newRetry(c configretry.BackOffConfig, stop <-chan struct{}) retry {
	return retry{BackOffConfig: c, stop: stop, limited: make(chan struct{})}
}

// lastInterval is the longest wait between two attempts after limit was called.
const lastInterval = 500 * time.Millisecond

// Errors of retry.do wrap them.
var (
	errRetriesEnded = errors.New("the time for retries is over")
	errRetryStopped = errors.New("shutting down")
)

// limit ends all retries after a duration. It is called once, and makes the next attempt follow at once.
func (r *retry) limit(d time.Duration) {
	r.end = time.Now().Add(d)
	close(r.limited)
}

// do calls f until it returns nil or a permanent error, or there is no time left.
func (r *retry) do(f func() error) error {
	start := time.Now()
	next := backoff.ExponentialBackOff{
		InitialInterval: r.InitialInterval, RandomizationFactor: r.RandomizationFactor, Multiplier: r.Multiplier, MaxInterval: r.MaxInterval,
	}
	next.Reset()
	for {
		err := f()
		if err == nil || !r.Enabled || isPermanent(err) {
			return err
		}
		wait := next.NextBackOff()
		if time.Since(start)+wait > r.MaxElapsedTime {
			return fmt.Errorf("%w: %w", errRetriesEnded, err)
		}
		if !r.sleep(wait) {
			return fmt.Errorf("%w: %w", errRetryStopped, err)
		}
	}
}

// sleep waits, and reports whether a retry may follow.
func (r *retry) sleep(d time.Duration) bool {
	limited := r.limited
	select {
	case <-limited:
		limited, d = nil, min(d, lastInterval)
		if time.Now().Add(d).After(r.end) {
			return false
		}
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.stop:
		return false
	case <-limited:
		return true
	case <-t.C:
		return true
	}
}
