package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
)

func zerologTo(out *output) zerolog.Logger { return zerolog.New(out).Level(zerolog.InfoLevel) }

// TestZerolog: zerolog's output stays the same, and a tool gets all records, the debug records among them.
func TestZerolog(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	out, records := observed(r, "shop_*", events.Stats,
		func(out *output) { serve(slog.New(zerolog.NewSlogHandler(zerologTo(out))), 7) },
		func(out *output) { serve(newZerolog(zerologTo(out), events), 7) })
	assert.Equal(t, served("shop"), fields(records, "event", "level", "message", "attributes"))
	assert.NotContains(t, out, "cache miss")
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
