package payload

import (
	"log/slog"
	"testing"
	"time"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
)

func BenchmarkPieces(b *testing.B) {
	at := testSchema.At
	buf := make([]byte, 0, 5000)
	now := time.Now()
	r := slog.NewRecord(now, slog.LevelInfo, "http request", 0)
	r.AddAttrs(slog.String("method", "GET"), slog.String("route", "/users/{id}"), slog.Int("status", 200), slog.Duration("latency", 1500*time.Microsecond), slog.Bool("cached", false))
	var p attrjson.Prefix
	for name, f := range map[string]func(){
		"pool":     func() { p := bufpool.Get(); bufpool.Put(p) },
		"beginend": func() { b := testSchema.Begin(buf, 4064); b.End() },
		"text":     func() { b := testSchema.Begin(buf, 4064); b.Text(at[fieldMessage], "http request"); b.End() },
		"numbers": func() {
			b := testSchema.Begin(buf, 4064)
			b.PutU64(at[fieldTime], uint64(now.UnixNano()))
			b.PutU32(at[fieldTruncated], 1)
			b.End()
		},
		"empty object": func() {
			b := testSchema.Begin(buf, 4064)
			w := b.Object()
			b.EndObject(at[fieldAttributes], &w, attrjson.KeepAll)
			b.End()
		},
		"prefixed object": func() {
			b := testSchema.Begin(buf, 4064)
			w := b.PrefixedObject(&p)
			b.EndObject(at[fieldAttributes], &w, attrjson.KeepAll)
			b.End()
		},
		"five": func() {
			b := testSchema.Begin(buf, 4064)
			w := b.PrefixedObject(&p)
			w.Record(&r)
			b.EndObject(at[fieldAttributes], &w, attrjson.KeepAll)
			b.End()
		},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				f()
			}
		})
	}
}
