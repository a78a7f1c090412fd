// Package otlpfile writes events as OTLP JSON lines, the file format that the Collector's receiver otlpjsonfile reads.
// Logs, traces and metrics have separate files. Each line is a request.
package otlpfile

import (
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/otlp"
)

// The signals. Each has its own file.
const (
	Logs    = "logs"
	Traces  = "traces"
	Metrics = "metrics"
)

const (
	// maxLine exceeds the length of all lines. The Collector's file readers split a line of 1 MiB.
	maxLine = 1 << 20
	// batchSize is the usual length of lines. Even with one more large event, most stay below maxLine.
	batchSize = 256 << 10
	// batchTime is how much later than the first event of a batch others are, in the time of the events.
	batchTime = uint64(time.Second)
)

// Writer writes events. It implements output.Writer of package output, and so is not safe for concurrent use.
type Writer struct {
	open  func(signal string) (io.Writer, error)
	files map[string]io.Writer

	c       *otlp.Converter
	began   uint64 // time of the batch's first event
	tooLong uint64
}

// Stats counts events by result.
type Stats struct {
	otlp.Stats
	TooLong uint64 // log records, spans and metrics that were dropped because they exceed a line
}

// NewWriter returns a Writer. It calls open for a signal before the first data of that signal.
func NewWriter(open func(signal string) (io.Writer, error)) *Writer {
	return &Writer{open: open, files: map[string]io.Writer{}, c: otlp.NewConverter(nil)}
}

// Write adds an event to the next lines. Stats counts events that cannot be written.
func (w *Writer) Write(ev *reader.Event) error {
	if w.full(ev) {
		w.began = 0
		if err := w.flush(); err != nil {
			return err
		}
	}
	_ = w.c.Add(ev) // counted
	if w.began == 0 {
		w.began = ev.Monotonic
	}
	return nil
}

// full reports whether what was added is written before an event is added. An exemplar belongs to the point before it, which
// must not have been written.
func (w *Writer) full(ev *reader.Event) bool {
	limit := batchSize
	if ev.Kind == reader.KindMetric && ev.Point.Type == reader.PointExemplar {
		limit = 2 * batchSize
	} else if w.began != 0 && ev.Monotonic > w.began+batchTime {
		return true
	}
	return w.c.Pending().Bytes > limit
}

// Lost does nothing: OTLP has no place for it.
func (w *Writer) Lost(string, uint64, time.Time) error { return nil }

// Exited notes that a process has written its last record: events of its spans that did not end become log records.
func (w *Writer) Exited(pid int32) { w.c.Exited(pid) }

// Close writes the last lines. Events of spans that did not end become log records.
func (w *Writer) Close() error {
	w.c.Flush()
	return w.flush()
}

// Stats returns the counts so far.
func (w *Writer) Stats() Stats { return Stats{w.c.Stats(), w.tooLong} }

func (w *Writer) flush() error {
	pending := w.c.Pending()
	if pending.LogRecords > 0 {
		if err := line(w, Logs, w.c.TakeLogs(), (&plog.JSONMarshaler{}).MarshalLogs, splitLogs); err != nil {
			return err
		}
	}
	if pending.Spans > 0 {
		if err := line(w, Traces, w.c.TakeTraces(), (&ptrace.JSONMarshaler{}).MarshalTraces, splitTraces); err != nil {
			return err
		}
	}
	// OTLP requests may have metrics without points.
	if metrics := w.c.TakeMetrics(); pending.DataPoints > 0 {
		return line(w, Metrics, metrics, (&pmetric.JSONMarshaler{}).MarshalMetrics, splitMetrics)
	}
	return nil
}

// line writes data as one line, or as several if it would be too long. split returns two halves, or nil if data is a
// single record.
func line[T any](w *Writer, signal string, data T, marshal func(T) ([]byte, error), split func(T) []T) error {
	b, err := marshal(data)
	if err != nil {
		return fmt.Errorf("OTLP %s: %w", signal, err)
	}
	if len(b)+1 < maxLine {
		return w.write(signal, append(b, '\n'))
	}
	parts := split(data)
	if parts == nil {
		w.tooLong++
	}
	for _, part := range parts {
		if err := line(w, signal, part, marshal, split); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) write(signal string, b []byte) error {
	f := w.files[signal]
	if f == nil {
		var err error
		if f, err = w.open(signal); err != nil {
			return err
		}
		w.files[signal] = f
	}
	_, err := f.Write(b)
	return err
}

// half returns which of n records at position at belong to the first (0) or second half (1) of total records.
func half(h, at, n, total int) (from, to int) {
	middle := min(max(total/2-at, 0), n)
	if h == 0 {
		return 0, middle
	}
	return middle, n
}

// splitLogs splits log records in two halves. It returns nil if there is only one record.
func splitLogs(data plog.Logs) []plog.Logs {
	total, at := data.LogRecordCount(), 0
	if total < 2 {
		return nil
	}
	parts := []plog.Logs{plog.NewLogs(), plog.NewLogs()}
	for _, r := range data.ResourceLogs().All() {
		for _, s := range r.ScopeLogs().All() {
			for h, part := range parts {
				from, to := half(h, at, s.LogRecords().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceLogs().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeLogs().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.LogRecords().At(i).CopyTo(scope.LogRecords().AppendEmpty())
				}
			}
			at += s.LogRecords().Len()
		}
	}
	return parts
}

// splitTraces splits spans in two halves. It returns nil if there is only one span.
func splitTraces(data ptrace.Traces) []ptrace.Traces {
	total, at := data.SpanCount(), 0
	if total < 2 {
		return nil
	}
	parts := []ptrace.Traces{ptrace.NewTraces(), ptrace.NewTraces()}
	for _, r := range data.ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for h, part := range parts {
				from, to := half(h, at, s.Spans().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceSpans().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeSpans().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.Spans().At(i).CopyTo(scope.Spans().AppendEmpty())
				}
			}
			at += s.Spans().Len()
		}
	}
	return parts
}

// splitMetrics splits metrics in two halves. It returns nil if there is only one metric, whose points stay together.
func splitMetrics(data pmetric.Metrics) []pmetric.Metrics {
	total, at := data.MetricCount(), 0
	if total < 2 {
		return nil
	}
	parts := []pmetric.Metrics{pmetric.NewMetrics(), pmetric.NewMetrics()}
	for _, r := range data.ResourceMetrics().All() {
		for _, s := range r.ScopeMetrics().All() {
			for h, part := range parts {
				from, to := half(h, at, s.Metrics().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceMetrics().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeMetrics().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.Metrics().At(i).CopyTo(scope.Metrics().AppendEmpty())
				}
			}
			at += s.Metrics().Len()
		}
	}
	return parts
}
