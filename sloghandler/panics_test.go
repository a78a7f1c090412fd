package sloghandler_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

type levelerPanics struct{}

func (levelerPanics) Level() slog.Level { panic("no level") }

// panicsTwice is a value to panic with whose own method panics, too.
type panicsTwice struct{}

func (panicsTwice) Error() string { panic(panicsTwice{}) }

// TestOptionsPanic: no function of the program can end it by a panic, and none loses a record. slog.JSONHandler lets them through.
func TestOptionsPanic(t *testing.T) {
	replace := func([]string, slog.Attr) slog.Attr { panic("no attribute") }
	log := func(h slog.Handler) { slog.New(h).With("b", 1).WithGroup("g").Info("m", "k", 2) }
	assert.Panics(t, func() { log(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: replace})) })
	assert.Panics(t, func() { log(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: levelerPanics{}})) })
	for name, o := range map[string]sloghandler.Options{
		"ReplaceAttr":            {ReplaceAttr: replace, AddSource: true},
		"Level":                  {Level: levelerPanics{}},
		"twice, ReplaceAttr":     {ReplaceAttr: func([]string, slog.Attr) slog.Attr { panic(panicsTwice{}) }, AddSource: true},
		"twice, AttrFromContext": {AttrFromContext: []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { panic(panicsTwice{}) }}},
		"TraceContext":           {TraceContext: func(context.Context) ([16]byte, [8]byte) { panic("no ids") }},
		"AttrFromContext":        {AttrFromContext: []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { panic("no attributes") }}},
	} {
		t.Run(name, func(t *testing.T) {
			h, tr := attached(t, o)
			require.NotPanics(t, func() { log(h) })
			records := tr.Records()
			require.Len(t, records, 1)
			list := readRecord(t, records[0]).attributes
			assert.Equal(t, "g", list[len(list)-1].key)
		})
	}
}
