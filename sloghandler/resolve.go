package sloghandler

import (
	"context"
	"log/slog"
	"math"

	"github.com/userevents/userevents-go/internal/panictext"
)

// resolve returns what LogValuers and ReplaceAttr make of an attribute.
func resolve(a slog.Attr, replace func([]string, slog.Attr) slog.Attr, groups []string) slog.Attr {
	if a.Value.Kind() == slog.KindLogValuer { // Resolve has a defer, which other values need not pay for
		a.Value = a.Value.Resolve()
	}
	if replace != nil && a.Value.Kind() != slog.KindGroup {
		a = replaced(replace, groups, a)
		a.Value = a.Value.Resolve()
	}
	return a
}

// empty reports whether a handler has to ignore the attribute.
func empty(a slog.Attr) bool {
	return a.Key == "" && a.Value.Kind() == slog.KindAny && a.Value.Any() == nil
}

// The functions below call functions of the program. Their panics become attributes: a log
// call must not end the program, nor lose the record.

func replaced(f func([]string, slog.Attr) slog.Attr, groups []string, a slog.Attr) (out slog.Attr) {
	defer func() {
		if r := recover(); r != nil {
			out = slog.String(a.Key, panictext.Of(r))
		}
	}()
	return f(groups, a)
}

func attrsOf(f func(context.Context) []slog.Attr, ctx context.Context) (attrs []slog.Attr) {
	defer func() {
		if r := recover(); r != nil {
			attrs = []slog.Attr{slog.String(panictext.Key, panictext.Of(r))}
		}
	}()
	return f(ctx)
}

func idsOf(f func(context.Context) ([16]byte, [8]byte), ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	defer func() { _ = recover() }() // there are no ids then
	return f(ctx)
}

// leastOf returns the least level of a Leveler, and the least of all if it panics.
func leastOf(l slog.Leveler) (level slog.Level) {
	defer func() {
		if recover() != nil {
			level = math.MinInt
		}
	}()
	return l.Level()
}
