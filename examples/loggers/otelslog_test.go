package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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
