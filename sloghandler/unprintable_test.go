package sloghandler_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
)

// TestUnprintable: no text of a record has a character that ends a line, drives a terminal or disguises other text, wherever it
// was logged.
func TestUnprintable(t *testing.T) {
	bad := "\x00\x07\x1b\n\r\u0085\u009b\u200b\u200f\u202a\u202e\u2028\u2066\u2069\ufeff\xff"
	h, tr := attached(t, sloghandler.Options{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.SourceKey {
			a.Value = slog.StringValue("source" + bad)
		}
		return a
	}, AddSource: true})
	slog.New(h).With("bound"+bad, bad, slog.Group("group"+bad, "x", bad)).WithGroup("open"+bad).Info("message"+bad,
		"text"+bad, bad, "error", errors.New(bad), "list", []string{bad}, "map", map[string]any{bad: bad},
		"struct", struct{ X string }{bad}, "raw", json.RawMessage("\"\u202e\\u202e\""), "marshaler", marshals("{\"\u2066\":\n\"\u202e\"}"))
	raw := tr.Records()
	require.Len(t, raw, 1)
	r := decoded(t, raw[0])
	for name, value := range r.fields {
		for _, c := range value {
			assert.True(t, unicode.IsPrint(c), "%s has %q: %s", name, c, value)
		}
	}
	assert.True(t, strings.HasPrefix(r.fields["message"], "message"))
	for _, c := range []string{"\u202e", "\u2066", "\u2028", "\ufeff", "\u200b", "\xc2\x85"} {
		assert.NotContains(t, string(raw[0].Payload), c)
	}
}
