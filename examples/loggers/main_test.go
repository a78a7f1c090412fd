package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// events are those that the program writes.
var events = []string{
	"loggers_zap_debug", "loggers_zap_info", "loggers_zap_error", "loggers_zerolog_debug", "loggers_zerolog_info", "loggers_zerolog_error",
	"loggers_slogmulti_debug", "loggers_slogmulti_info", "loggers_slogmulti_error",
	"loggers_otel_log_debug", "loggers_otel_log_info", "loggers_otel_log_error", "loggers_logr_debug", "loggers_logr_info",
	"loggers_logr_error", "loggers_sdk_debug", "loggers_sdk_error",
}

// start runs the program until the test calls stop.
func start(t *testing.T, p *uevents.Provider) (out *output, stop func()) {
	t.Cleanup(func() {
		otel.SetLogger(logr.Discard())
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out = &output{}
	done := make(chan error, 1)
	go func() { done <- run(ctx, out, p, 10*time.Millisecond) }()
	return out, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// TestRun: the program logs through each logger, and a tool gets the records of all of them.
func TestRun(t *testing.T) {
	r := newRig(t)
	out, stop := start(t, r.provider)
	testscale.Eventually(t, func() bool { return strings.Contains(out.String(), "level=ERROR") }, "no first round")
	tool := r.attach("loggers_*")
	seen := map[string]bool{}
	testscale.Eventually(t, func() bool {
		for _, one := range r.records(tool) {
			seen[one["event"]] = true
		}
		return len(seen) == len(events)
	}, "records are missing")
	stop()
	for _, name := range events {
		assert.Contains(t, seen, name)
	}
	assert.NotContains(t, out.String(), "cache miss")
	for _, e := range r.kernel.Events() {
		assert.Zero(t, e.Words, "%s is still registered", e.Name)
	}
}

// TestSDK: the SDK prints its errors as before, and a tool also gets what the SDK logs below the level error.
func TestSDK(t *testing.T) {
	t.Cleanup(func() {
		otel.SetLogger(logr.Discard())
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	})
	r := newRig(t)
	events := r.handler("shop_sdk")
	sdk := func(out *output, events slog.Handler) {
		logSDK(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}), events)
		export(t.Context())
	}
	out, records := observed(r, "shop_sdk_*", events.Stats,
		func(out *output) { sdk(out, slog.DiscardHandler) },
		func(out *output) { sdk(out, events) })
	assert.Equal(t, "level=ERROR msg=\"traces export: connection refused\"\n", out)
	assert.Equal(t, [][]string{
		{"shop_sdk_debug", "-1", "SimpleSpanProcessor is not recommended for production use, consider using BatchSpanProcessor instead."},
		{"shop_sdk_debug", "-4", "TracerProvider created"},
		{"shop_sdk_debug", "-4", "Tracer created"},
		{"shop_sdk_error", "8", "traces export: connection refused"},
	}, fields(records, "event", "level", "message"))
	assert.Contains(t, records[1]["attributes"], `"config":{`)
}

// TestSlogMulti: the output of the other handler stays the same, and a tool gets all records, the debug records among them.
func TestSlogMulti(t *testing.T) {
	out := checkServe(t, func(out *output) *slog.Logger { return slog.New(text(out)) },
		func(out *output, events slog.Handler) *slog.Logger { return newSlogMulti(text(out), events) })
	assert.Contains(t, out, "query failed")
}

// TestLogr: the output of the handler that logr has stays the same, and a tool gets all records, the debug records among them.
func TestLogr(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	out, records := observed(r, "shop_*", events.Stats,
		func(out *output) { serveLogr(logr.FromSlogHandler(text(out)), 7) },
		func(out *output) { serveLogr(newLogr(text(out), events), 7) })
	assert.Equal(t, [][]string{
		{"shop_debug", "-4", "cache miss", `{"request":7,"logger":"controller","key":"user:41"}`},
		{"shop_info", "0", "request served", `{"request":7,"logger":"controller","route":"/users/{id}","status":200}`},
		{"shop_error", "8", "query failed", `{"request":7,"logger":"controller","err":"connection reset","user":41}`},
	}, fields(records, "event", "level", "message", "attributes"))
	assert.NotContains(t, out, "cache miss")
	assert.Contains(t, out, "query failed")
}

// TestLogrLimits tests the limits that README.md names.
func TestLogrLimits(t *testing.T) {
	r := newRig(t)
	events, err := sloghandler.New("shop", &sloghandler.Options{Provider: r.provider, TraceContext: oteltrace.Context})
	assert.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, events.Close()) })
	tool := r.attach("shop_*")
	log := newLogr(slog.DiscardHandler, events)

	for _, v := range []int{0, 1, 4, 9} {
		log.V(v).Info("verbosity")
	}
	assert.Equal(t, [][]string{{"shop_info", "0"}, {"shop_debug", "-1"}, {"shop_debug", "-4"}, {"shop_debug", "-9"}},
		fields(r.records(tool), "event", "level"), "there are no warnings")

	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(context.Background(), span)
	logr.FromContextOrDiscard(logr.NewContext(ctx, log)).Info("in a span")
	slog.New(events).InfoContext(ctx, "by slog")
	assert.Equal(t, [][]string{{"in a span", ""}, {"by slog", span.TraceID().String()}},
		fields(r.records(tool), "message", "trace_id"), "logr's calls have no context, so records have no ids")

	// A LogSink that is no slog.Handler.
	var direct, through output
	sink := func(out *output) logr.Logger {
		return funcr.NewJSON(func(line string) { _, _ = out.Write([]byte(line + "\n")) }, funcr.Options{})
	}
	sink(&direct).Error(errors.New("refused"), "failed")
	newLogr(logr.ToSlogHandler(sink(&through)), events).Error(errors.New("refused"), "failed")
	assert.Contains(t, direct.String(), `"error":"refused"`)
	assert.Contains(t, through.String(), `"error":null,"err":"refused"`, "the name of its error changes")
	assert.Equal(t, [][]string{{`{"err":"refused"}`}}, fields(r.records(tool), "attributes"))
}

// TestOtelslog: the output beside the bridge stays the same, and a tool gets all records, with OpenTelemetry's fields.
func TestOtelslog(t *testing.T) {
	r := newRig(t)
	provider := r.loggerProvider("shop")
	out, records := observed(r, "shop_log_*", provider.Stats,
		func(out *output) { serve(slog.New(text(out)), 7) },
		func(out *output) { serve(newOtelslog(text(out), provider), 7) })
	assert.Equal(t, [][]string{
		{"shop_log_debug", "5", "DEBUG", "cache miss", `{"request":7,"key":"user:41"}`},
		{"shop_log_info", "9", "INFO", "request served", `{"request":7,"route":"/users/{id}","response":{"status":200,"took":1500000}}`},
		{"shop_log_error", "17", "ERROR", "query failed", `{"request":7,"exception.message":"connection reset","exception.type":"*errors.errorString"}`},
	}, fields(records, "event", "severity_number", "severity_text", "body", "attributes"))
	assert.Equal(t, "example.com/shop", records[0]["scope_name"])
	assert.NotContains(t, out, "cache miss")
	assert.Contains(t, out, "query failed")
}

// TestOtelslogLimits tests the limits that README.md names.
func TestOtelslogLimits(t *testing.T) {
	r := newRig(t)
	provider, events := r.loggerProvider("shop"), r.handler("shop")
	tool := r.attach("shop_*")
	log := slog.New(slog.NewMultiHandler(newOtelslog(slog.DiscardHandler, provider).Handler(), events))

	ctx := context.Background()
	for _, level := range []slog.Level{-8, -9, 12, 16} {
		log.Log(ctx, level, "level")
	}
	assert.Equal(t, [][]string{
		{"shop_log_debug", "1"},
		{"shop_debug", ""},
		{"shop_log_info", "0"},
		{"shop_debug", ""}, // OpenTelemetry has no severity below 1, and 0 means unknown
		{"shop_log_error", "21"},
		{"shop_error", ""},
		{"shop_log_error", "25"},
		{"shop_error", ""},
	}, fields(r.records(tool), "event", "severity_number"))

	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	log.Info("values", "at", at, "big", uint64(math.MaxUint64), slog.Group("g", "err", errors.New("refused")))
	log.Error("errors", "first", errors.New("one"), "second", errors.New("two"))
	assert.Equal(t, [][]string{
		{`{"at":1767323045000000006,"big":18446744073709552000.0,"g":{"err":"refused"}}`},
		{`{"at":"2026-01-02T03:04:05.000000006Z","big":18446744073709551615,"g":{"err":"refused"}}`},
		{`{"exception.message":"two","exception.type":"*errors.errorString"}`},
		{`{"first":"one","second":"two"}`},
	}, fields(r.records(tool), "attributes"))
}

func zapTo(out *output) zapcore.Core {
	return zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(out), zap.InfoLevel)
}

// TestZap: zap's output stays the same, and a tool gets all records, the debug records among them.
func TestZap(t *testing.T) {
	out := checkServe(t, func(out *output) *slog.Logger { return slog.New(zapslog.NewHandler(zapTo(out))) },
		func(out *output, events slog.Handler) *slog.Logger { return newZap(zapTo(out), events) })
	assert.Contains(t, out, `"msg":"query failed"`)
	assert.Contains(t, out, `"stacktrace":"github.com/userevents/userevents-go/examples/loggers.serve"`)
}

// address is an object of zap's, which package slog does not know.
type address struct{ city string }

// place is an object of slog's.
type place struct{ city string }

func (p place) LogValue() slog.Value { return slog.GroupValue(slog.String("city", p.city)) }

func (a address) MarshalLogObject(e zapcore.ObjectEncoder) error {
	e.AddString("city", a.city)
	return nil
}

// TestZapLimits tests the limits that README.md names.
func TestZapLimits(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	tool := r.attach("shop_*")
	var out output
	core := zapTo(&out)

	zap.New(core).Error("by zap itself")
	assert.Contains(t, out.String(), "by zap itself")
	assert.Empty(t, r.records(tool), "calls of zap.Logger do not reach the events")

	log := newZap(core, events)
	log.Log(context.Background(), slog.LevelError+4, "fatal")
	log.Log(context.Background(), slog.LevelInfo+2, "notice")
	assert.Contains(t, out.String(), `"level":"error","msg":"fatal"`, "zap has no level for it")
	assert.Contains(t, out.String(), `"level":"info","msg":"notice"`)
	assert.Equal(t, [][]string{{"shop_error", "12"}, {"shop_info", "2"}}, fields(r.records(tool), "event", "level"), "the events keep slog's number")

	log.Info("object", "to", address{"Oslo"})
	assert.Contains(t, out.String(), `"to":{"city":"Oslo"}`)
	assert.Equal(t, [][]string{{`{"to":{}}`}}, fields(r.records(tool), "attributes"), "methods of zap's interfaces are not called")
	log.Info("object", "in", place{"Oslo"})
	assert.Contains(t, out.String(), `"in":{"city":"Oslo"}`)
	assert.Equal(t, [][]string{{`{"in":{"city":"Oslo"}}`}}, fields(r.records(tool), "attributes"), "those of slog's are")

	slog.New(slog.NewMultiHandler(zapslog.NewHandler(core), events)).Error("without WithCallerSkip")
	assert.Contains(t, out.String(), `"msg":"without WithCallerSkip","stacktrace":"log/slog.(*Logger).Error"`)
}

func zerologTo(out *output) zerolog.Logger { return zerolog.New(out).Level(zerolog.InfoLevel) }

// TestZerolog: zerolog's output stays the same, and a tool gets all records, the debug records among them.
func TestZerolog(t *testing.T) {
	out := checkServe(t, func(out *output) *slog.Logger { return slog.New(zerolog.NewSlogHandler(zerologTo(out))) },
		func(out *output, events slog.Handler) *slog.Logger { return newZerolog(zerologTo(out), events) })
	assert.Contains(t, out, `"message":"query failed"`)
}

// TestZerologLimits tests the limits that README.md names.
func TestZerologLimits(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	tool := r.attach("shop_*")
	var out output
	logger := zerologTo(&out)

	logger.Error().Msg("by zerolog itself")
	assert.Contains(t, out.String(), "by zerolog itself")
	assert.Empty(t, r.records(tool), "calls of zerolog.Logger do not reach the events")

	log := newZerolog(logger, events)
	log.Log(context.Background(), slog.LevelError+4, "fatal")
	assert.Contains(t, out.String(), `{"level":"error","message":"fatal"}`, "zerolog's bridge has no level above error")
	assert.Equal(t, [][]string{{"shop_error", "12"}}, fields(r.records(tool), "event", "level"), "the events keep slog's number")

	log.With("request", 7).WithGroup("user").Info("grouped", "id", 41)
	assert.Contains(t, out.String(), `"user.request":7,"user.id":41`, "zerolog puts attributes of With into a later group")
	assert.Equal(t, [][]string{{`{"request":7,"user":{"id":41}}`}}, fields(r.records(tool), "attributes"), "the events do not")

	bound := newZerolog(logger.With().Str("service", "shop").Logger(), events)
	bound.Info("bound")
	assert.Contains(t, out.String(), `"service":"shop"`)
	assert.Equal(t, [][]string{{`{}`}}, fields(r.records(tool), "attributes"), "the context of the zerolog.Logger is its own")

	sampled := newZerolog(logger.Sample(zerolog.RandomSampler(0)), events)
	sampled.Info("sampled away")
	assert.Equal(t, [][]string{{"sampled away"}}, fields(r.records(tool), "message"), "a tool gets what the sampler drops")
}
