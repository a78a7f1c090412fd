package usereventsreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader/otlp"
)

// outputs deliver the data of all signals.
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
	o.logs = output[plog.Logs]{signal: "logs", take: (*otlp.Converter).TakeLogs, count: plog.Logs.LogRecordCount, clone: clone(plog.NewLogs, plog.Logs.CopyTo)}
	o.traces = output[ptrace.Traces]{signal: "traces", take: (*otlp.Converter).TakeTraces, count: ptrace.Traces.SpanCount, clone: clone(ptrace.NewTraces, ptrace.Traces.CopyTo)}
	o.metrics = output[pmetric.Metrics]{signal: "metrics", take: (*otlp.Converter).TakeMetrics, count: pmetric.Metrics.DataPointCount, clone: clone(pmetric.NewMetrics, pmetric.Metrics.CopyTo)}
}

// clone returns a function that copies data.
func clone[T any](create func() T, copyTo func(from, to T)) func(T) T {
	return func(from T) T {
		to := create()
		copyTo(from, to)
		return to
	}
}

func newObsReport(set receiver.Settings) (*receiverhelper.ObsReport, error) {
	return receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set, LongLivedCtx: true})
}

func (o *outputs) setLogs(set receiver.Settings, next consumer.Logs) error {
	obs, err := newObsReport(set)
	if err == nil {
		o.logs.begin, o.logs.end = obs.StartLogsOp, obs.EndLogsOp
		o.logs.setConsumer(next, next.ConsumeLogs)
	}
	return err
}

func (o *outputs) setTraces(set receiver.Settings, next consumer.Traces) error {
	obs, err := newObsReport(set)
	if err == nil {
		o.traces.begin, o.traces.end = obs.StartTracesOp, obs.EndTracesOp
		o.traces.setConsumer(next, next.ConsumeTraces)
	}
	return err
}

func (o *outputs) setMetrics(set receiver.Settings, next consumer.Metrics) error {
	obs, err := newObsReport(set)
	if err == nil {
		o.metrics.begin, o.metrics.end = obs.StartMetricsOp, obs.EndMetricsOp
		o.metrics.setConsumer(next, next.ConsumeMetrics)
	}
	return err
}

// Reasons of dropped records.
const (
	reasonPermanent  = "permanent"
	reasonRetry      = "retry"
	reasonNoPipeline = "no_pipeline"
	reasonMalformed  = "malformed"
	reasonShutdown   = "shutdown"
)

// reasonOf returns the reason for an error of output.deliver.
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
