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

	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
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
func (w *Writer) Write(ev *record.Record) error {
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
func (w *Writer) full(ev *record.Record) bool {
	limit := batchSize
	if ev.Kind == record.KindMetric && ev.Point.Type == record.PointExemplar {
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

// halves returns two copies of data of total records, from which remove has removed the records of the other half: it calls isOther for each
// record in order. It returns nil if there is only one record.
func halves[T any](data T, total int, create func() T, copyTo func(from, to T), remove func(part T, isOther func() bool)) (parts []T) {
	if total < 2 {
		return nil
	}
	for h := range 2 {
		part, at := create(), -1
		copyTo(data, part)
		remove(part, func() bool {
			at++
			return (at < total/2) != (h == 0)
		})
		parts = append(parts, part)
	}
	return parts
}

// splitLogs splits log records in two halves. It returns nil if there is only one record.
func splitLogs(data plog.Logs) []plog.Logs {
	return halves(data, data.LogRecordCount(), plog.NewLogs, plog.Logs.CopyTo, func(part plog.Logs, isOther func() bool) {
		part.ResourceLogs().RemoveIf(func(r plog.ResourceLogs) bool {
			r.ScopeLogs().RemoveIf(func(s plog.ScopeLogs) bool {
				s.LogRecords().RemoveIf(func(plog.LogRecord) bool { return isOther() })
				return s.LogRecords().Len() == 0
			})
			return r.ScopeLogs().Len() == 0
		})
	})
}

// splitTraces splits spans in two halves. It returns nil if there is only one span.
func splitTraces(data ptrace.Traces) []ptrace.Traces {
	return halves(data, data.SpanCount(), ptrace.NewTraces, ptrace.Traces.CopyTo, func(part ptrace.Traces, isOther func() bool) {
		part.ResourceSpans().RemoveIf(func(r ptrace.ResourceSpans) bool {
			r.ScopeSpans().RemoveIf(func(s ptrace.ScopeSpans) bool {
				s.Spans().RemoveIf(func(ptrace.Span) bool { return isOther() })
				return s.Spans().Len() == 0
			})
			return r.ScopeSpans().Len() == 0
		})
	})
}

// splitMetrics splits metrics in two halves. It returns nil if there is only one metric, whose points stay together.
func splitMetrics(data pmetric.Metrics) []pmetric.Metrics {
	return halves(data, data.MetricCount(), pmetric.NewMetrics, pmetric.Metrics.CopyTo, func(part pmetric.Metrics, isOther func() bool) {
		part.ResourceMetrics().RemoveIf(func(r pmetric.ResourceMetrics) bool {
			r.ScopeMetrics().RemoveIf(func(s pmetric.ScopeMetrics) bool {
				s.Metrics().RemoveIf(func(pmetric.Metric) bool { return isOther() })
				return s.Metrics().Len() == 0
			})
			return r.ScopeMetrics().Len() == 0
		})
	})
}
