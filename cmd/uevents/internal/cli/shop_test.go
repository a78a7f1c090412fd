package cli

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// The programs of the shop: a web service as examples/service, and the service for payments that it calls.
const (
	webshop  = "webshop"
	payments = "payments"
)

// shopRecord is a record that the programs of the shop write. Answers are judged by it.
type shopRecord struct {
	seq       int // its attribute seq; the start and the end of a span have the same
	program   string
	kind      string // as JSON has it
	name      string // message, or name of the span, the event of a span, or the metric
	level     slog.Level
	request   bool   // a declared record
	trace     string // hexadecimal digits
	caller    string // of a span without a parent in the program: the id of the parent outside
	parent    int    // seq of the span that it is in; 0: none
	linked    string // the trace that a link leads to
	spanKind  trace.SpanKind
	took      time.Duration // of a span
	failure   string        // status message of a span that failed
	value     float64       // of a gauge or a counter
	durations []float64     // of a histogram
	attrs     []shopAttr
}

// shopAttr is an attribute: a string, bool, int64, uint64, float64, time.Duration or []string.
type shopAttr struct {
	key   string
	value any
}

// get returns an attribute, or nil.
func (r *shopRecord) get(key string) any {
	for _, a := range r.attrs {
		if a.key == key {
			return a.value
		}
	}
	return nil
}

// text returns a text among the attributes, or "".
func (r *shopRecord) text(key string) string { s, _ := r.get(key).(string); return s }

// int returns an integer among the attributes, or 0.
func (r *shopRecord) int(key string) int64 { n, _ := r.get(key).(int64); return n }

// time returns a time among the attributes, or 0.
func (r *shopRecord) time(key string) time.Duration { d, _ := r.get(key).(time.Duration); return d }

// shopPlan makes the records of the shop, those of each program in the order in which it writes them.
type shopPlan struct {
	rand    *rand.Rand
	records []shopRecord
}

// newShopPlan returns n records, always the same.
func newShopPlan(n int) []shopRecord {
	p := &shopPlan{rand: rand.New(rand.NewPCG(39, 1))}
	for i := 0; len(p.records) < n; i++ {
		p.serve()
		if i%20 == 0 {
			p.measure()
		}
		if i%100 == 99 {
			p.settle()
		}
	}
	return p.records[:n]
}

// one returns one of the values.
func one[T any](p *shopPlan, values ...T) T { return values[p.rand.IntN(len(values))] }

// in reports true once in n calls.
func (p *shopPlan) in(n int) bool { return p.rand.IntN(n) == 0 }

// id returns the hexadecimal digits of an id.
func (p *shopPlan) id(bytes int) string {
	b := binary.BigEndian.AppendUint64(nil, p.rand.Uint64()|1)
	b = binary.BigEndian.AppendUint64(b, p.rand.Uint64())
	return hex.EncodeToString(b[:bytes])
}

// latency returns a time around a typical one, sometimes far above.
func (p *shopPlan) latency(typical time.Duration) time.Duration {
	d := time.Duration(float64(typical) * (0.5 + p.rand.ExpFloat64()))
	if p.in(50) {
		d *= 10
	}
	return d
}

// add adds a record with attributes: keys and values.
func (p *shopPlan) add(r shopRecord, attrs ...any) int {
	if r.seq == 0 {
		r.seq = len(p.records) + 1
	}
	for i := 0; i < len(attrs); i += 2 {
		if n, ok := attrs[i+1].(int); ok {
			attrs[i+1] = int64(n)
		}
		r.attrs = append(r.attrs, shopAttr{attrs[i].(string), attrs[i+1]})
	}
	p.records = append(p.records, r)
	return r.seq
}

// requestOf is a request that the shop serves.
type requestOf struct {
	*shopPlan
	trace string
	user  int
}

// log adds a log record in a span.
func (q *requestOf) log(program string, span int, level slog.Level, message string, attrs ...any) {
	q.add(shopRecord{program: program, kind: "log", name: message, level: level, trace: q.trace, parent: span}, attrs...)
}

// span adds the start of a span, and returns how to end it.
func (q *requestOf) span(r shopRecord, attrs ...any) (seq int, end func(took time.Duration, failure string)) {
	r.trace = q.trace
	r.kind = "span_start"
	seq = q.add(r, attrs...)
	r = q.records[len(q.records)-1]
	return seq, func(took time.Duration, failure string) {
		r.kind, r.took, r.failure = "span", took, failure
		q.add(r)
	}
}

var routes = []string{"GET /users/{id}", "GET /users/{id}", "GET /users/{id}", "GET /search", "GET /search", "POST /orders", "POST /orders", "GET /healthz"}

// serve adds the records of a request.
func (p *shopPlan) serve() {
	q := &requestOf{shopPlan: p, trace: p.id(16), user: 1 + p.rand.IntN(400)}
	route := one(p, routes...)
	attrs := []any{"http.route", route, "client.address", fmt.Sprintf("10.%d.0.%d", p.rand.IntN(4), p.rand.IntN(256))}
	if route != "GET /healthz" {
		attrs = append(attrs, "enduser.id", fmt.Sprintf("u-%04d", q.user))
	}
	span, end := q.span(shopRecord{program: webshop, name: route, spanKind: trace.SpanKindServer, caller: p.id(8)}, attrs...)
	status, took := 200, p.latency(5*time.Millisecond)
	switch route {
	case "GET /users/{id}":
		status = q.showUser(span)
	case "GET /search":
		took = q.search(span)
	case "POST /orders":
		q.log(webshop, span, slog.LevelDebug, "order received", "http.route", route, "items", 1+p.rand.IntN(9), "cart", p.cart())
		status, took = q.charge()
	}
	level, failure := slog.LevelInfo, ""
	if status >= 500 {
		level, failure = slog.LevelError, "upstream"
	}
	attrs = []any{"route", route, "status", status, "latency", took}
	if route != "GET /healthz" {
		attrs = append(attrs, "user.id", q.user, "user_agent", one(p, "curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64)", "Go-http-client/2.0"))
	}
	p.add(shopRecord{program: webshop, kind: "log", name: "request", level: level, request: true, trace: q.trace, parent: span}, attrs...)
	end(took, failure)
}

// longCart is the length of a text of an order that is too long for a record. The others are far shorter.
const longCart = 5000

// cart returns the text of an order.
func (p *shopPlan) cart() string {
	if p.in(20) {
		return strings.Repeat("shoe-42,", longCart/8+p.rand.IntN(200))
	}
	return strings.Repeat("shoe-42,", 1+p.rand.IntN(30))
}

// showUser adds the records of a request for a user.
func (q *requestOf) showUser(span int) (status int) {
	hit := q.in(3)
	q.log(webshop, span, slog.LevelDebug, "cache lookup", "key", fmt.Sprintf("user:%d", q.user), "hit", hit, "shard", q.user%8)
	if hit {
		return 200
	}
	table, took := one(q.shopPlan, "users", "users", "sessions"), q.latency(2*time.Millisecond)
	query, end := q.span(shopRecord{program: webshop, name: "SELECT " + table, spanKind: trace.SpanKindClient, parent: span},
		"db.collection.name", table, "db.query.text", `SELECT name FROM "`+table+`" WHERE id = ?`)
	failure := ""
	switch {
	case q.in(25):
		failure = "database is locked"
		q.add(shopRecord{program: webshop, kind: "span_event", name: "exception", trace: q.trace, parent: query},
			"exception.type", "*sqlite.Error", "exception.message", failure)
		q.log(webshop, query, slog.LevelError, "query failed", "err", failure, "db.table", table, "db.rows", 0)
		status = 500
	case q.user > 380:
		q.log(webshop, span, slog.LevelWarn, "no such user", "user.id", q.user)
		status = 404
	default:
		q.log(webshop, span, slog.LevelInfo, "user served", "user.id", q.user, "user.city", one(q.shopPlan, "Zürich", "Łódź", "東京", "Berlin"))
		status = 200
	}
	if took > 15*time.Millisecond {
		q.log(webshop, query, slog.LevelWarn, "slow query", "db.table", table, "db.took", took, "db.rows", q.rand.IntN(1000))
	}
	end(took, failure)
	return status
}

// search adds the records of a search.
func (q *requestOf) search(span int) time.Duration {
	text := one(q.shopPlan, "shoes", `12" vinyl`, "men's shoes", "two\nlines", "größe 42", "手袋", `C:\temp`, "")
	took, results := q.latency(30*time.Millisecond), q.rand.IntN(40)
	if text == "" {
		results = 0
	}
	filters := []string{one(q.shopPlan, "red", "blue"), one(q.shopPlan, "sale", "new")}
	q.log(webshop, span, slog.LevelInfo, "searched", "q", text, "results", results, "score", float64(q.rand.IntN(1000))/1000, "filters", filters, "took", took)
	if q.in(10) {
		q.add(shopRecord{program: webshop, kind: "span_event", name: "index reloaded", trace: q.trace, parent: span}, "shard", q.rand.IntN(8))
	}
	return took
}

// charge adds the records of a payment.
func (q *requestOf) charge() (status int, took time.Duration) {
	span, end := q.span(shopRecord{program: payments, name: "charge", spanKind: trace.SpanKindServer, caller: q.id(8)}, "currency", one(q.shopPlan, "CHF", "EUR"))
	order := uint64(1)<<63 + q.rand.Uint64N(1<<62)
	attempts := 1
	for ; q.in(5) && attempts < 5; attempts++ {
		after := time.Duration(attempts) * 200 * time.Millisecond
		took += after
		q.log(payments, span, slog.LevelWarn, "retrying", "retry.attempt", attempts, "retry.after", after, "retry.of", one(q.shopPlan, "gateway-a", "gateway-b"))
		q.add(shopRecord{program: payments, kind: "span_event", name: "retry", trace: q.trace, parent: span}, "attempt", attempts)
	}
	took += q.latency(80 * time.Millisecond)
	switch {
	case q.in(20):
		status = one(q.shopPlan, 502, 503, 504)
		err := fmt.Sprintf("gateway: %s: i/o timeout", one(q.shopPlan, "dial tcp 192.0.2.7:443", "read tcp 10.0.0.9"))
		q.add(shopRecord{program: payments, kind: "span_event", name: "exception", trace: q.trace, parent: span},
			"exception.type", "*net.OpError", "exception.message", err)
		q.log(payments, span, slog.LevelError, "charge failed", "err", err, "order_id", order, "attempts", attempts)
		end(took, err)
		return status, took
	case q.in(15):
		status = 402
		q.log(payments, span, slog.Level(2), "declined", "order_id", order, "balance", -q.rand.IntN(5000), "card.last4", fmt.Sprintf("%04d", q.rand.IntN(300)))
	default:
		status = 201
		q.log(payments, span, slog.LevelInfo, "charged", "order_id", order, "amount", float64(q.rand.IntN(20000))/100, "flags", q.rand.IntN(8), "card.last4", fmt.Sprintf("%04d", q.rand.IntN(300)))
	}
	end(took, "")
	return status, took
}

// measure adds what the programs measure.
func (p *shopPlan) measure() {
	for _, queue := range []string{"orders", "mails"} {
		p.add(shopRecord{program: webshop, kind: "metric", name: "queue.depth", value: float64(p.rand.IntN(200))}, "queue", queue)
	}
	p.add(shopRecord{program: payments, kind: "metric", name: "payments.charged", value: float64(p.rand.IntN(100000)) / 100})
	var durations []float64
	for range p.rand.IntN(6) {
		durations = append(durations, p.latency(50*time.Millisecond).Seconds())
	}
	p.add(shopRecord{program: webshop, kind: "metric", name: "http.server.request.duration", durations: durations}, "http.route", one(p, routes...))
	for range 3 {
		p.add(shopRecord{program: webshop, kind: "log", name: "upload failed", level: slog.LevelError}, "err", "telemetry backend: 429 Too Many Requests")
	}
	if p.in(10) {
		p.add(shopRecord{program: webshop, kind: "log", name: "worker ended: \x1b[31mpanic\x1b[0m\ngoroutine 7 [running]:", level: slog.Level(12)}, "worker", p.rand.IntN(4))
	}
}

// settle adds the records of a task that has no request: it has links to earlier ones.
func (p *shopPlan) settle() {
	q := &requestOf{shopPlan: p, trace: p.id(16)}
	span, end := q.span(shopRecord{program: payments, name: "settle", spanKind: trace.SpanKindConsumer, caller: p.id(8)})
	for range 3 {
		linked := p.records[p.rand.IntN(len(p.records))].trace
		if linked != "" {
			p.add(shopRecord{program: payments, kind: "span_link", trace: q.trace, parent: span, linked: linked, caller: p.id(8)})
		}
	}
	end(p.latency(time.Second), "")
}

// shopRequest is the declared record of the shop.
type shopRequest struct {
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

// shopProgram is a program of the shop while it runs.
type shopProgram struct {
	log     *slog.Logger
	tracer  trace.Tracer
	metrics *ueventsmetric.Exporter
	began   time.Time
	spans   map[int]context.Context // the spans that have not ended, by the number of their start
}

// shopMain, given the beginning of the names of its events, a number of records and a directory, writes its part of that many records
// of the shop. The directory has files for each step: NAME.pid, when the events are registered, and NAME.done, when all records are
// written, by the program; begin and end, for which it waits before and after, by the test.
func shopMain(args []string) (err error) {
	ctx, program := context.Background(), filepath.Base(os.Args[0])
	n, err := strconv.Atoi(args[1])
	must(err)
	p, err := uevents.Open(nil)
	must(err)
	name := args[0]
	h, logErr := sloghandler.New(name, &sloghandler.Options{
		Provider: p, TraceContext: oteltrace.Context,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[shopRequest]("request", nil)},
	})
	spans, spanErr := ueventstrace.NewTracerProvider(name, ueventstrace.WithProvider(p),
		ueventstrace.WithResource(resource.NewSchemaless(attribute.String("service.name", program))))
	metrics, metricErr := ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	must(errors.Join(logErr, spanErr, metricErr))
	s := shopProgram{log: slog.New(h), tracer: spans.Tracer("http"), metrics: metrics, began: time.Now(), spans: map[int]context.Context{}}
	records := newShopPlan(n)
	file := func(name string) string { return filepath.Join(args[2], name) }
	must(errors.Join(os.WriteFile(file(program+".pid"), []byte(strconv.Itoa(os.Getpid())), 0o600), exists(file("begin"))))
	for i := range records {
		if r := &records[i]; r.program == program {
			must(s.write(ctx, r))
		}
	}
	must(errors.Join(create(file(program+".done")), exists(file("end"))))
	return errors.Join(metrics.Shutdown(ctx), spans.Shutdown(ctx), h.Close(), p.Close())
}

// write writes a record.
func (s *shopProgram) write(ctx context.Context, r *shopRecord) error {
	within := ctx
	if r.parent != 0 {
		within = s.spans[r.parent]
	}
	span := trace.SpanFromContext(within)
	switch r.kind {
	case "log":
		s.log.LogAttrs(within, r.level, r.name, r.slogAttrs()...)
	case "span_start":
		if r.parent == 0 {
			within = trace.ContextWithRemoteSpanContext(ctx, spanContextOf(r.trace, r.caller))
		}
		s.spans[r.seq], _ = s.tracer.Start(within, r.name, trace.WithTimestamp(s.began), trace.WithSpanKind(r.spanKind), trace.WithAttributes(r.attributes()...))
	case "span":
		span = trace.SpanFromContext(s.spans[r.seq])
		if r.failure != "" {
			span.SetStatus(codes.Error, r.failure)
		}
		span.End(trace.WithTimestamp(s.began.Add(r.took)))
	case "span_event":
		span.AddEvent(r.name, trace.WithAttributes(r.attributes()...))
	case "span_link":
		span.AddLink(trace.Link{SpanContext: spanContextOf(r.linked, r.caller), Attributes: r.attributes()})
	case "metric":
		return s.metrics.Export(ctx, &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{
			Scope:   instrumentation.Scope{Name: "http"},
			Metrics: []metricdata.Metrics{{Name: r.name, Data: r.point(s.began)}},
		}}})
	default:
		return fmt.Errorf("no such kind: %s", r.kind)
	}
	return nil
}

// spanContextOf returns the context of a span outside of the shop.
func spanContextOf(traceID, spanID string) trace.SpanContext {
	t, tErr := trace.TraceIDFromHex(traceID)
	s, sErr := trace.SpanIDFromHex(spanID)
	if err := errors.Join(tErr, sErr); err != nil {
		panic(err) // the plan is wrong
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, Remote: true})
}

// point returns a data point of a metric: a gauge, an increment of a counter, or a histogram.
func (r *shopRecord) point(at time.Time) metricdata.Aggregation {
	attrs := attribute.NewSet(r.attributes()...)
	switch r.name {
	case "queue.depth":
		return metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attrs, Time: at, Value: int64(r.value)}}}
	case "payments.charged":
		return metricdata.Sum[float64]{
			Temporality: metricdata.DeltaTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[float64]{{Attributes: attrs, Time: at, Value: r.value}},
		}
	}
	point := metricdata.HistogramDataPoint[float64]{Attributes: attrs, Time: at, Count: uint64(len(r.durations)), Bounds: []float64{}, BucketCounts: []uint64{uint64(len(r.durations))}}
	for _, d := range r.durations {
		point.Sum += d
	}
	if len(r.durations) > 0 {
		point.Min, point.Max = metricdata.NewExtrema(slices.Min(r.durations)), metricdata.NewExtrema(slices.Max(r.durations))
	}
	return metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{point}}
}

// slogAttrs returns the attributes of a log record. Those of db, retry, user and card are groups.
func (r *shopRecord) slogAttrs() (list []slog.Attr) {
	for _, a := range r.attrs {
		group, member, ok := strings.Cut(a.key, ".")
		switch last := len(list) - 1; {
		case !ok || !slices.Contains([]string{"db", "retry", "user", "card"}, group):
			list = append(list, slog.Any(a.key, a.value))
		case last >= 0 && list[last].Key == group:
			list[last].Value = slog.GroupValue(append(list[last].Value.Group(), slog.Any(member, a.value))...)
		default:
			list = append(list, slog.Attr{Key: group, Value: slog.GroupValue(slog.Any(member, a.value))})
		}
	}
	return append(list, slog.Int("seq", r.seq))
}

// attributes returns the attributes of a span, an event, a link or a data point.
func (r *shopRecord) attributes() (list []attribute.KeyValue) {
	for _, a := range r.attrs {
		switch v := a.value.(type) {
		case string:
			list = append(list, attribute.String(a.key, v))
		case int64:
			list = append(list, attribute.Int64(a.key, v))
		}
	}
	return append(list, attribute.Int("seq", r.seq))
}
