package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

func zapTo(out *output) zapcore.Core {
	return zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(out), zap.InfoLevel)
}

// TestZap: zap's output stays the same, and a tool gets all records, the debug records among them.
func TestZap(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	out, records := observed(r, "shop_*", events.Stats,
		func(out *output) { serve(slog.New(zapslog.NewHandler(zapTo(out))), 7) },
		func(out *output) { serve(newZap(zapTo(out), events), 7) })
	assert.Equal(t, served("shop"), fields(records, "event", "level", "message", "attributes"))
	assert.NotContains(t, out, "cache miss")
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
