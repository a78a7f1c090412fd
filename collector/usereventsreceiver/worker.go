package usereventsreceiver

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

type worker struct {
	*session
	plain     map[*record.Decoder]*record.Decoder // with mapping: raw
	converter *otlp.Converter
	ev        record.Record
	decoder   *record.Decoder // of ev
	event     string          // name of ev
	pending   otlp.Pending    // of the converter after the last event
	logs      batch
	traces    batch
	metrics   batch
	lastEvent time.Time // when the last event was converted; zero if nothing waits for late records
	counts    counts
	stats     otlp.Stats // of the converter, as far as they are counted
	noPID     bool       // a record without process was seen
	tail      *tail.Buffer
	tailStats tail.Stats // as far as they are counted
}

// counts are numbers of records that are not in the telemetry yet.
type counts struct{ read, unselected, copies, undecodable int64 }

func newWorker(s *session) *worker {
	c := s.cfg
	w := &worker{session: s, converter: otlp.NewConverter(c.converterOptions())}
	var err error
	if w.tail, err = c.Tail.buffer(); err != nil { // Validate finds that before
		s.logger.Error("all records are collected", zap.NamedError("tail", err))
	}
	if c.Mapping == mappingRaw {
		w.plain = map[*record.Decoder]*record.Decoder{}
	}
	return w
}

// run returns when the queue is closed and all is delivered.
func (w *worker) run() {
	for {
		c, err := w.queue.take(w.patience())
		switch {
		case errors.Is(err, io.EOF):
			w.end(0)
			w.deliverAll()
			w.endTail()
			return
		case err == nil:
			w.convert(c)
			w.queue.release(c)
		default:
			w.idle()
		}
		w.deliverDue(time.Now())
	}
}

// patience returns how long to wait for records: until a batch is due, or late records have been waited for long enough.
func (w *worker) patience() time.Duration {
	next := time.Now().Add(time.Hour)
	for _, b := range []*batch{&w.logs, &w.traces, &w.metrics} {
		if due := b.due(w.cfg.Batch.Timeout); !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	if !w.lastEvent.IsZero() {
		if t := w.lastEvent.Add(w.cfg.Spans.MaxWait); t.Before(next) {
			next = t
		}
	}
	return time.Until(next)
}

// idle tells the converter that time passes without events.
func (w *worker) idle() {
	if w.lastEvent.IsZero() {
		return
	}
	idle := time.Since(w.lastEvent)
	w.converter.Idle(idle)
	w.account("", record.KindOther)
	w.count()
	if idle > w.cfg.Spans.MaxWait {
		w.lastEvent = time.Time{} // nothing waits for late records any more
	}
}

// convert decodes and converts the records of a chunk. It delivers the batches that become full.
func (w *worker) convert(c *chunk) {
	for i := range c.records {
		q := &c.records[i]
		if q.Decoder == nil {
			w.end(q.PID)
			continue
		}
		w.counts.read++
		selected, isCopy := c.decode(q, &w.ev)
		if w.ev.Undecodable {
			w.counts.undecodable++
		}
		switch {
		case selected:
		case isCopy:
			w.counts.copies++
			continue
		default:
			w.counts.unselected++
			continue
		}
		if q.Decoder != w.decoder {
			w.decoder, w.event = q.Decoder, w.ev.System+":"+w.ev.Name
		}
		w.take()
	}
	w.lastEvent = time.Now()
	w.count()
}

// plainOf returns the decoder of records for mapping: raw.
func (w *worker) plainOf(d *record.Decoder) *record.Decoder {
	plain := w.plain[d]
	if plain == nil {
		if len(w.plain) == maxPlain { // programs come and go
			clear(w.plain)
		}
		plain = d.Plain()
		w.plain[d] = plain
	}
	return plain
}

// maxPlain is how many decoders are kept.
const maxPlain = 4096

// end tells the converter that there are no further records of a process, or with the id 0 of any.
func (w *worker) end(pid int32) {
	if pid != 0 {
		w.converter.Exited(pid)
		return
	}
	w.converter.Flush()
	w.account("", record.KindOther)
}

// take converts the decoded event if it is to be collected.
func (w *worker) take() {
	ev := &w.ev
	if ev.PID == 0 && !w.noPID && strings.HasPrefix(ev.System, tracepoint.System) { // the kernel's idle task has 0, too
		w.noPID = true
		w.logger.Warn("records of processes in another PID namespace have no process.pid, process.executable.name and container.id: run the Collector in the host's PID namespace (hostPID: true)",
			zap.String("event", w.event))
	}
	if w.plain != nil {
		_ = w.plainOf(ev.Decoder).DecodeReuse(ev.Raw, ev) // an error was counted
	}
	w.pass(ev)
}

// add converts an event of a name.
func (w *worker) add(ev *record.Record, event string) {
	if err := w.converter.Add(ev); err != nil {
		w.logger.Error("a record is dropped", zap.Error(err))
		w.outputs.drop(event, reasonMalformed, 1)
	}
	w.account(event, ev.Kind)
	w.deliverFull()
}

// account notes what the converter has more than before. The last event, if event is its name, accounts for one record
// of its kind. All others are spans and events of spans that waited for other records: their event is not known.
func (w *worker) account(event string, kind record.Kind) {
	before, now := w.pending, w.converter.Pending()
	w.pending = now
	logs, spans := 0, 0
	switch {
	case event == "":
	case kind == record.KindSpan:
		spans = 1
	case kind != record.KindSpanEvent && kind != record.KindSpanLink:
		logs = 1
	}
	w.logs.addOwn(event, logs, now.LogRecords-before.LogRecords)
	w.traces.addOwn(event, spans, now.Spans-before.Spans)
	if n := now.DataPoints - before.DataPoints; n > 0 {
		w.metrics.add(event, n)
	}
}

// deliverFull delivers the signals whose batch has reached a limit.
func (w *worker) deliverFull() {
	full := func(b *batch, bytes int) bool {
		return b.records >= w.cfg.Batch.MaxRecords || bytes >= w.cfg.Batch.MaxSizeKiB<<10
	}
	w.deliver(full(&w.logs, w.pending.LogBytes), full(&w.traces, w.pending.SpanBytes), full(&w.metrics, w.pending.PointBytes))
}

// deliverDue delivers the signals whose batch has waited long enough.
func (w *worker) deliverDue(now time.Time) {
	due := func(b *batch) bool { return b.records > 0 && !now.Before(b.due(w.cfg.Batch.Timeout)) }
	w.deliver(due(&w.logs), due(&w.traces), due(&w.metrics))
}

func (w *worker) deliverAll() { w.deliver(true, true, true); w.count() }

func (w *worker) deliver(logs, traces, metrics bool) {
	if logs {
		deliver(w.ctx, &w.outputs, &w.outputs.logs, w.converter, &w.logs)
	}
	if traces {
		deliver(w.ctx, &w.outputs, &w.outputs.traces, w.converter, &w.traces)
	}
	if metrics {
		deliver(w.ctx, &w.outputs, &w.outputs.metrics, w.converter, &w.metrics)
	}
	if logs || traces || metrics {
		w.pending = w.converter.Pending()
	}
}

func (w *worker) count() {
	ctx, t := context.Background(), w.telemetry
	add := func(counter metric.Int64Counter, n int64, kv ...attribute.KeyValue) {
		if n > 0 {
			counter.Add(ctx, n, t.with(kv...))
		}
	}
	add(t.ReceiverUserEventsReadRecords, w.counts.read)
	add(t.ReceiverUserEventsUndecodableRecords, w.counts.undecodable)
	w.exclude("condition", uint64(w.counts.unselected))
	w.exclude("copy", uint64(w.counts.copies))
	w.countTail()
	w.counts = counts{}
	st := w.converter.Stats()
	add(t.ReceiverUserEventsOrphans, int64(st.OrphanEvents-w.stats.OrphanEvents), attribute.String("kind", "span_event"))
	add(t.ReceiverUserEventsOrphans, int64(st.OrphanLinks-w.stats.OrphanLinks), attribute.String("kind", "span_link"))
	add(t.ReceiverUserEventsOrphans, int64(st.OrphanExemplars-w.stats.OrphanExemplars), attribute.String("kind", "exemplar"))
	w.stats = st
}

// exclude counts records that are not collected.
func (w *worker) exclude(reason string, n uint64) {
	if n > 0 {
		w.telemetry.ReceiverUserEventsExcludedRecords.Add(context.Background(), int64(n), w.telemetry.with(attribute.String("reason", reason)))
	}
}

// batch describes the data of one signal that the converter has.
type batch struct {
	records int
	since   time.Time      // when the first record was converted
	counts  map[string]int // records by event, without the last ones
	event   string         // of the last ones
	run     int            // number of the last ones
}

// add notes that the converter has more records of an event.
func (b *batch) add(event string, n int) {
	if b.records == 0 {
		b.since = time.Now()
	}
	b.records += n
	if event != b.event {
		b.flush()
		b.event = event
	}
	b.run += n
}

// addOwn notes that the converter has n more records. At most own of them belong to an event.
func (b *batch) addOwn(event string, own, n int) {
	if own = min(own, n); own > 0 {
		b.add(event, own)
	}
	if n > own {
		b.add("", n-own)
	}
}

func (b *batch) flush() {
	if b.run == 0 {
		return
	}
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[b.event] += b.run
	b.run = 0
}

// events returns the number of records of each event.
func (b *batch) events() map[string]int {
	b.flush()
	return b.counts
}

func (b *batch) reset() {
	clear(b.counts)
	b.records, b.run, b.event = 0, 0, ""
}

// due returns when the batch is to be delivered, or the zero time if it is empty.
func (b *batch) due(timeout time.Duration) time.Time {
	if b.records == 0 {
		return time.Time{}
	}
	return b.since.Add(timeout)
}

// buffer returns the buffer of the records that are held, or nil if all are collected.
func (c *TailConfig) buffer() (*tail.Buffer, error) {
	if c.When == "" {
		return nil, nil
	}
	when, err := where.Parse(c.When)
	if err != nil {
		return nil, err
	}
	return tail.New(tail.Options{When: when, By: c.By, Window: c.Window, Bytes: c.SizeMiB << 20})
}

// pass converts a decoded event, and what it lets through, unless it is to be held.
func (w *worker) pass(ev *record.Record) {
	if w.tail == nil || ev.Kind == record.KindMetric {
		w.add(ev, w.event)
		return
	}
	w.tail.Add(ev)
	for through := w.tail.Next(); through != nil; through = w.tail.Next() {
		event := w.event
		if through != ev {
			event = through.System + ":" + through.Name
		}
		w.add(through, event)
	}
}

// countTail adds to the telemetry the records that are not collected because of the tail.
func (w *worker) countTail() {
	if w.tail == nil {
		return
	}
	st, before := w.tail.Stats(), w.tailStats
	w.tailStats = st
	w.exclude("tail_window", st.Expired-before.Expired)
	w.exclude("tail_room", st.Evicted-before.Evicted)
	w.exclude("tail_value", st.Without-before.Without)
	w.telemetry.ReceiverUserEventsTailSize.Record(w.ctx, int64(st.Bytes), w.telemetry.with())
}

// endTail counts the records that are held at the end.
func (w *worker) endTail() {
	if w.tail != nil {
		w.exclude("tail_window", uint64(w.tail.Stats().Held))
	}
}
