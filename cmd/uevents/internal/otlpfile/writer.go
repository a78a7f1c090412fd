// Package otlpfile writes events as OTLP JSON lines: the file format of OpenTelemetry's protocol, which the Collector's receiver
// otlpjsonfile reads. Logs, traces and metrics are in a file each, whose lines are requests.
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

// The signals, each of which has a file.
const (
	Logs    = "logs"
	Traces  = "traces"
	Metrics = "metrics"
)

const (
	// MaxLine is less than what lines have. The Collector's readers of files split a line of 1 MiB.
	MaxLine = 1 << 20
	// batchSize is what lines usually have. With one more event, however large, most stay below MaxLine.
	batchSize = 256 << 10
	// batchTime is how long an event stays in memory at most, in the time of the events.
	batchTime = uint64(time.Second)
)

// Writer writes events. It implements output.Writer of package output, and so is not safe for concurrent use.
type Writer struct {
	open  func(signal string) (io.Writer, error)
	files map[string]io.Writer

	c       *otlp.Converter
	began   uint64 // when the first event of the batch was recorded
	tooLong uint64
}

// Stats counts what became of events.
type Stats struct {
	otlp.Stats
	TooLong uint64 // log records, spans and metrics that no line has room for, and which were dropped
}

// NewWriter returns a Writer. open is called for a signal when there is something to write to its file.
func NewWriter(open func(signal string) (io.Writer, error)) *Writer {
	return &Writer{open: open, files: map[string]io.Writer{}, c: otlp.NewConverter(nil)}
}

// Write adds an event to the lines that are written next. Stats counts events that cannot be written.
func (w *Writer) Write(ev *reader.Event) error {
	_ = w.c.Add(ev) // counted
	if w.began == 0 {
		w.began = ev.Monotonic
	}
	if ev.Monotonic-w.began > batchTime || w.c.Pending().Bytes > batchSize {
		w.began = ev.Monotonic
		return w.flush()
	}
	return nil
}

// Lost does nothing: OTLP has no place for it.
func (w *Writer) Lost(string, uint64, time.Time) error { return nil }

// Close writes the last lines. Events of spans that did not end become log records.
func (w *Writer) Close() error {
	w.c.Flush()
	return w.flush()
}

// Stats returns the counts so far.
func (w *Writer) Stats() Stats { return Stats{w.c.Stats(), w.tooLong} }

// flush writes what was added, a line for each signal.
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
	// Requests of OTLP may have metrics without points.
	if metrics := w.c.TakeMetrics(); pending.DataPoints > 0 {
		return line(w, Metrics, metrics, (&pmetric.JSONMarshaler{}).MarshalMetrics, splitMetrics)
	}
	return nil
}

// line writes data as a line, or as several if one would be too long. split returns two halves, or nil for what cannot be
// split.
func line[T any](w *Writer, signal string, data T, marshal func(T) ([]byte, error), split func(T) []T) error {
	b, err := marshal(data)
	if err != nil {
		return fmt.Errorf("OTLP %s: %w", signal, err)
	}
	if len(b)+1 < MaxLine {
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
