package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/encode/typed"
)

// replaceHead lets ReplaceAttr see what has fields of its own: time, level, message and source. What it
// returns goes into the field if that can hold it, and else becomes an attribute.
func (w *walk) replaceHead(hd *head, r *slog.Record, source bool) {
	if !r.Time.IsZero() {
		hd.time = 0
		if a := w.headAttr(slog.Time(slog.TimeKey, r.Time.Round(0))); a.Value.Kind() == slog.KindTime {
			hd.time = typed.UnixNano(a.Value.Time())
		} else {
			w.add(a)
		}
	}
	a := w.headAttr(slog.Any(slog.LevelKey, r.Level))
	if level, ok := levelOf(a.Value); ok {
		hd.level = clamp(level)
	} else {
		w.add(a)
	}
	hd.message = ""
	if a := w.headAttr(slog.String(slog.MessageKey, r.Message)); a.Value.Kind() == slog.KindString {
		hd.message = a.Value.String()
	} else {
		w.add(a)
	}
	if s := r.Source(); source && s != nil {
		hd.source = ""
		a := w.headAttr(slog.Any(slog.SourceKey, s))
		if s, ok := a.Value.Any().(*slog.Source); ok {
			hd.source = sourceText(s)
		} else if a.Value.Kind() == slog.KindString {
			hd.source = a.Value.String()
		} else {
			w.add(a)
		}
	}
}

// headAttr returns what ReplaceAttr makes of an attribute that is in no group.
func (w *walk) headAttr(a slog.Attr) slog.Attr { return resolve(a, w.replace, nil) }

// levelOf returns the level that a value stands for.
func levelOf(v slog.Value) (slog.Level, bool) {
	if v.Kind() == slog.KindInt64 {
		return slog.Level(v.Int64()), true
	}
	level, ok := v.Any().(slog.Level)
	return level, ok
}
