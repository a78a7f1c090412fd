package sloghandler

import (
	"context"
	"fmt"
	"log/slog"
)

// panicKey is the key of an attribute that tells of a panic.
const panicKey = "!PANIC"

// resolve returns what is left of an attribute when LogValuers and ReplaceAttr have spoken.
func resolve(a slog.Attr, replace func([]string, slog.Attr) slog.Attr, groups []string) slog.Attr {
	a.Value = a.Value.Resolve()
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
			out = slog.String(a.Key, panicText(r))
		}
	}()
	return f(groups, a)
}

func attrsOf(f func(context.Context) []slog.Attr, ctx context.Context) (attrs []slog.Attr) {
	defer func() {
		if r := recover(); r != nil {
			attrs = []slog.Attr{slog.String(panicKey, panicText(r))}
		}
	}()
	return f(ctx)
}

func idsOf(f func(context.Context) ([16]byte, [8]byte), ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	defer func() {
		if recover() != nil {
			traceID, spanID = [16]byte{}, [8]byte{}
		}
	}()
	return f(ctx)
}

func panicText(r any) string { return fmt.Sprint(panicKey+": ", r) }
