//go:build !386 && !arm && !mips && !mipsle

package decode

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestConditionKernel: a Reader that leaves to the kernel what this evaluates selects the records that match when they are decoded.
func TestConditionKernel(t *testing.T) {
	kerneltest.Require(t)
	compareConditions(t, uevents.TransportKernel, 80) // detaching takes the kernel 30 ms for each event
}

// TestConditionMemory: a Reader of programs in shared memory selects the same.
func TestConditionMemory(t *testing.T) {
	testscale.HostOnly(t)
	compareConditions(t, uevents.TransportMemory, testscale.Count(400, 50))
}

// compareConditions reads the same records with random conditions, of which the kernel evaluates what it can, or nothing.
func compareConditions(t *testing.T, transport uevents.Transport, conditions int) {
	w := newConditionWorld(t, transport)
	open := func(where *where.Condition) *reader.Reader {
		o := &reader.Options{Selection: reader.Selection{Events: []string{"cond"}, Where: where, Processes: []int{os.Getpid()}}, Transport: reader.TransportKernel}
		o.Notify = func(n reader.Notice) { t.Logf("%v: notice: %+v", where, n) }
		if transport == uevents.TransportMemory {
			o.Transport = reader.TransportMemory
		}
		r, err := reader.Open(o)
		require.NoError(t, err, "%v", where)
		return r
	}
	g := conditionGenerator{rand.New(rand.NewPCG(1, 2))}
	selected, others := 0, 0
	for range conditions {
		text := g.expression(2)
		c := condition(text)
		some, all := open(c), open(nil)
		w.write(g)
		var want, got []string
		for _, ev := range eventsOf(t, all) {
			if c.Match(ev) {
				want = append(want, keyOf(ev))
			} else {
				others++
			}
		}
		for _, ev := range eventsOf(t, some) {
			got = append(got, keyOf(ev))
		}
		selected += len(want)
		if !assert.Equal(t, want, got, text) {
			return
		}
	}
	t.Logf("%d records selected, %d not", selected, others)
	assert.Greater(t, min(selected, others), 5*conditions)
}

// eventsOf returns what a Reader selects.
func eventsOf(t *testing.T, r *reader.Reader) (list []*record.Record) {
	require.NoError(t, r.Stop())
	for {
		ev := new(record.Record)
		if err := r.Next(ev); err == io.EOF { //nolint:errorlint // it is returned as it is
			break
		} else {
			require.NoError(t, err)
		}
		list = append(list, ev)
	}
	st, err := r.Stats()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Zero(t, st.Total.Lost)
	return list
}

// keyOf returns the number that the program gave a record. A declared record and its copy have the same.
func keyOf(ev *record.Record) string {
	seq, ok := ev.Lookup("seq")
	if !ok {
		return ev.Name
	}
	return seq.String()
}

// conditionWorld writes records of all kinds.
type conditionWorld struct {
	t       *testing.T
	logger  *slog.Logger
	header  log.Logger
	tracer  trace.Tracer
	otel    log.Logger
	foreign *uevents.Event
	seq     uint32
}

type condRequest struct {
	Seq     uint32        `uevent:"seq"`
	Route   string        `uevent:"http.route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency"`
	Cached  bool          `uevent:"cached"`
	Delta   int64         `uevent:"delta"`
}

// condLogin is declared with a name that ends as that of a range of levels.
type condLogin struct {
	Seq  uint32 `uevent:"seq"`
	User string `uevent:"user"`
}

func newConditionWorld(t *testing.T, transport uevents.Transport) *conditionWorld {
	p, err := uevents.Open(&uevents.Options{Transport: transport})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	w := &conditionWorld{t: t}
	h, err := sloghandler.New("cond", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[condRequest]("request", nil), sloghandler.Declare[condLogin]("login error", nil)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	w.logger = slog.New(h)
	tp, err := ueventstrace.NewTracerProvider("cond", ueventstrace.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tp.Shutdown(context.Background())) })
	w.tracer = tp.Tracer("cond")
	lp, err := ueventslog.NewLoggerProvider("cond", ueventslog.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lp.Shutdown(context.Background())) })
	w.otel = lp.Logger("cond")
	schema, err := ueventslog.NewLoggerProvider("cond", ueventslog.WithProvider(p), ueventslog.WithCommonSchema4())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, schema.Shutdown(context.Background())) })
	w.header = schema.Logger("cond")
	w.foreign, err = p.Register(tracepoint.MustParse("cond_foreign u32 seq; s8 delta; __rel_loc char[] route; u64 status; u64 trace_id; u8 level; __rel_loc char[] message"), nil)
	require.NoError(t, err)
	return w
}

var (
	condTexts    = []string{"", "a", "/users/7", "/users/{id}", "5xx", "!no", "say \"hi\"", "it's", "line\nbreak", `C:\n`, "ä☃", "users", "/users/7/x"}
	condStatuses = []int{0, 1, 200, 404, 500, 503, 65535}
	condLevels   = []slog.Level{-8, -5, -4, -3, 0, 1, 4, 8, 12, 40}
)

func oneOf[T any](g conditionGenerator, list []T) T { return list[g.IntN(len(list))] }

// write writes a record of each kind and some values.
func (w *conditionWorld) write(g conditionGenerator) {
	next := func() slog.Attr {
		w.seq++
		return slog.Int("seq", int(w.seq))
	}
	ctx := w.t.Context()
	for range 6 {
		text, status := oneOf(g, condTexts), oneOf(g, condStatuses)
		w.logger.LogAttrs(ctx, oneOf(g, condLevels), text, next(), slog.Int("status", status), slog.String("http.route", oneOf(g, condTexts)),
			slog.Group("db", slog.String("table", text)), slog.Bool("cached", status > 200), slog.Any("delta", oneOf(g, []any{-1, 0.5, "7", true})))
		w.logger.With("status", 1, "http.route", "bound").LogAttrs(ctx, slog.LevelInfo, "request", next(), slog.Int("status", status))
		w.logger.LogAttrs(ctx, slog.LevelWarn, "request", next(), slog.Any("status", oneOf(g, []any{70000, "text", -1, 500.5})), slog.Group("http", "route", text))
		w.logger.LogAttrs(ctx, oneOf(g, condLevels), "login error", next(), slog.String("user", text))
		w.logger.LogAttrs(ctx, slog.LevelInfo, "", next(), slog.String("message", text), slog.String("trace_id", "4bf9"), slog.String("span_id", "12"), slog.Int("truncated", status))
		w.logger.LogAttrs(ctx, oneOf(g, condLevels), "request", next(), slog.String("http.route", text), slog.Int("status", status),
			slog.Duration("latency", time.Duration(status)*time.Millisecond), slog.Bool("cached", status > 200), slog.Int("delta", status-200), slog.String("extra", text))
		var header log.Record
		header.SetSeverity(log.Severity(g.IntN(25)))
		header.SetBody(attribute.StringValue(text))
		w.seq++
		header.AddAttributes(attribute.Int("seq", int(w.seq)), attribute.Int("status", status))
		w.header.Emit(ctx, header)
		var rec log.Record
		rec.SetSeverity(log.Severity(g.IntN(25)))
		rec.SetBody(attribute.StringValue(text))
		rec.SetEventName(oneOf(g, []string{"", "users"}))
		rec.AddAttributes(attribute.Int("status", status), attribute.String("otel.scope.name", text), attribute.String("severity_text", "own"), attribute.Int("seq", int(w.seq)+1))
		w.seq++
		w.otel.Emit(ctx, rec)
		spanCtx, span := w.tracer.Start(ctx, text)
		w.logger.InfoContext(spanCtx, text, next())
		w.seq++
		span.SetAttributes(attribute.Int64("seq", int64(w.seq)), attribute.Int("status", status), attribute.String("http.route", text))
		if status >= 500 {
			span.SetStatus(codes.Error, text)
		}
		span.End()
		w.seq++
		route := strings.ReplaceAll(text, "\x00", "") + "\x00"
		b := binary.NativeEndian.AppendUint32(make([]byte, uevents.IndexSize), w.seq)
		b = append(b, byte(status))
		b = binary.NativeEndian.AppendUint32(b, uint32(len(route)<<16|8+8+1+4))
		b = binary.NativeEndian.AppendUint64(b, uint64(status))
		b = binary.NativeEndian.AppendUint64(b, 0x4bf9)
		b = append(b, byte(status))
		b = binary.NativeEndian.AppendUint32(b, uint32(len(route)<<16|len(route)))
		_, err := w.foreign.WriteRecord(append(append(b, route...), route...))
		require.NoError(w.t, err)
	}
}

// conditionGenerator makes conditions of which many match.
type conditionGenerator struct{ *rand.Rand }

func (g conditionGenerator) expression(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.comparison()
	}
	switch g.IntN(5) {
	case 0:
		return "not (" + g.expression(depth-1) + ")"
	case 1:
		return "(" + g.expression(depth-1) + ")"
	default:
		return "(" + g.expression(depth-1) + oneOf(g, []string{" and ", " or ", "&&", " || "}) + g.expression(depth-1) + ")"
	}
}

func (g conditionGenerator) comparison() string {
	equal := oneOf(g, []string{"==", "!="})
	size := oneOf(g, []string{"==", "!=", "<", "<=", ">", ">="})
	text := func() string {
		s := oneOf(g, condTexts)
		s = record.StringValue(s).String() // as it is printed
		if strings.Contains(s, `"`) {
			return "`" + s + "`"
		}
		return `"` + s + `"`
	}
	pattern := func() string {
		return oneOf(g, []string{`"*"`, `"/users*"`, `"*users*"`, `"*7"`, `"5*"`, `"!*"`, `"/u*7"`, `"?"`, `"[a-z/]*"`, `"*n*"`, `"a"`, "'*\"*'", `"*☃"`, `"*\\*"`})
	}
	number := oneOf(g, []string{"0", "1", "200", "404", "499.5", "500", "503", "-1", "65535", "65536", "300", "0.5", "1e9", "18446744073709551615", "true", "false", `"500"`, "100ms", "1s"})
	if size[0] != '=' && size[0] != '!' && strings.ContainsAny(number, `"tf`) {
		number = "500"
	}
	switch g.IntN(14) {
	case 0, 1:
		return "status " + size + " " + number
	case 2:
		return "status in (" + number + ", 404, 200)"
	case 3:
		return oneOf(g, []string{"http.route", "http_route", "route", "message", "db.table", "extra", "name"}) + " " + equal + " " + text()
	case 4, 5:
		return oneOf(g, []string{"http.route", "http_route", "route", "message", "db.table", "extra", "name"}) + " ~ " + pattern()
	case 6:
		return oneOf(g, []string{"http.route", "message", "route"}) + " =~ " + oneOf(g, []string{"users", "'^5'", `"hi"`, `'n'`, `"\\\\"`})
	case 7, 8:
		return "level " + size + " " + oneOf(g, []string{"trace", "debug", "debug2", "info", "info2", "warn", "error", "fatal"})
	case 9:
		return "delta " + size + " " + number
	case 10:
		return oneOf(g, []string{"cached == true", "cached != true", "cached == 0", "latency > 200ms", "latency == 503ms", "latency < 0.5", "duration > 0", "duration > 1h", "status == error", "status & 1", "delta & 0x80"})
	case 11:
		return "kind " + equal + " " + oneOf(g, []string{"log", "span", "other", "span_start", "metric"})
	case 12:
		return "has " + oneOf(g, []string{"level", "message", "status", "http.route", "latency", "trace_id", "db", "db.table", "nothing", "duration"})
	default:
		return oneOf(g, []string{"trace_id == 4", "span_id != 8", "trace_id ~ \"*7\"", "scope == users", "severity_text == own", "event_name == users", "trace_id == 4bf9", "trace_id ~ *9", "trace_id != 4bf9", "has(message)", "message ~ *", `message in ("", a)`, "fields.message ~ *", "fields.trace_id == 4bf9", "message == request", "message ~ cond_*", "user == users", "has user", "level == fatal", "level == trace", "truncated == 500", "has(status_2)", "status not in (200, 404)", "http.route not in (a, users)", "message == login", "status & 0x8000000000000000", "delta & 1", "event ~ cond_*", "event == cond_foreign", "severity_number >= 13", fmt.Sprintf("pid == %d", os.Getpid()), "pid == 1", "fields.status >= 500", "resource.status == 1", `message == ""`, `message != ""`})
	}
}

// where parses a condition that is right.
func condition(text string) *where.Condition {
	c, err := where.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}
