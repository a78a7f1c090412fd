package sloghandler_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/truncationtest"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestTruncation: a record that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for _, limit := range []int{4064, 1024} {
		h, tr := attached(t, sloghandler.Options{MaxPayload: limit})
		for _, c := range truncationtest.Cases() {
			t.Run(fmt.Sprintf("%s/%d", c.Name, limit), func(t *testing.T) {
				handler := slog.Handler(h)
				if len(c.Bound) > 0 {
					handler = h.WithAttrs(slogAttrs(c.Bound))
				}
				before := h.Stats()["app_info"]
				slog.New(handler).LogAttrs(t.Context(), slog.LevelInfo, c.Message, slogAttrs(c.Attrs)...)
				records := tr.Records()
				require.Len(t, records, 1)
				got := readRecord(t, records[0])
				assert.NoError(t, c.Check(limit, &truncationtest.Record{
					Message: got.message, Attributes: asMap(got.attributes), Truncated: got.truncated, Size: len(records[0].Payload),
				}))
				after := h.Stats()["app_info"]
				assert.Equal(t, got.truncated > 0, after.Truncated > before.Truncated, "what Stats says")
			})
		}
	}
}

func slogAttrs(attrs []truncationtest.Attr) (list []slog.Attr) {
	for _, a := range attrs {
		if g, ok := a.Value.(truncationtest.Group); ok {
			a.Value = slogAttrs(g)
		}
		list = append(list, slog.Any(a.Key, a.Value))
	}
	return list
}

// asMap returns an object as a map.
func asMap(list members) map[string]any {
	m := make(map[string]any, len(list))
	for _, member := range list {
		if object, ok := member.value.(members); ok {
			member.value = asMap(object)
		}
		m[member.key] = member.value
	}
	return m
}
