package sloghandler_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestLoggerAroundLimit: a Logger truncates what a slog.Logger truncates, and counts it once, for texts of all sizes around the limit and
// characters of all sizes.
func TestLoggerAroundLimit(t *testing.T) {
	testscale.HostOnly(t)
	type record struct {
		Text string `uevent:"text"`
		N    int    `uevent:"n"`
	}
	d := sloghandler.Declare[record]("m", nil)
	const limit = 300
	h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{d}, MaxPayload: limit})
	direct, general := d.Logger(h), slog.New(h)
	whole, cut := 0, 0
	for _, char := range []string{"x", "ü", "€", "𝄞", "\n", `"`} {
		for n := 0; n < 400; n += testscale.Count(1, 7) {
			v := record{strings.Repeat(char, n), n}
			direct.Log(t.Context(), slog.LevelInfo, &v)
			got := only(t, tr)
			general.Info("m", "text", v.Text, "n", n)
			want := only(t, tr)
			for _, field := range []string{"text", "n", "truncated", "attributes"} {
				require.Equal(t, want.fields[field], got.fields[field], "%d times %q", n, char)
			}
			if want.fields["truncated"] == "0" {
				whole++
			} else {
				require.Equal(t, "1", got.fields["truncated"], "%d times %q", n, char)
				cut++
			}
		}
	}
	assert.Positive(t, whole)
	assert.Positive(t, cut)
	n := h.Stats()["app_m"]
	assert.EqualValues(t, whole+cut, n.Written/2)
	assert.EqualValues(t, cut, n.Truncated/2)
}

// TestLoggerCopy: the event of the level has a field of each type as an attribute of the same value.
func TestLoggerCopy(t *testing.T) {
	type record struct {
		Yes  bool    `uevent:"yes"`
		No   bool    `uevent:"no"`
		Text string  `uevent:"text"`
		I    int8    `uevent:"i"`
		U    uint64  `uevent:"u"`
		F    float64 `uevent:"f"`
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{d}})
	d.Logger(h).Log(t.Context(), slog.LevelInfo, &record{true, false, "a", -3, 1 << 63, 0.5})
	var texts []string
	for _, raw := range tr.Records() {
		r := decoded(t, raw)
		texts = append(texts, r.event+" "+r.fields["duplicate"]+r.json)
	}
	assert.Equal(t, []string{"app_m {}", `app_info 1{"yes":true,"no":false,"text":"a","i":-3,"u":9223372036854775808,"f":0.5}`}, texts)
	assert.True(t, h.Stats()["app_m"].Matched)
}

// TestDropped: values that are dropped since there are too many lists in an attribute count in each record, also if the attribute
// was bound.
func TestDropped(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	lists := make([]any, 1002) // and the one around them
	for i := range lists {
		lists[i] = []any{}
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{d}})
	bound := h.WithAttrs([]slog.Attr{slog.Any("a", lists)}).(*sloghandler.Handler)
	d.Logger(bound).Log(t.Context(), slog.LevelInfo, &record{1})
	slog.New(bound).Info("m", "n", 1)
	slog.New(bound).Info("other", "n", 1)
	slog.New(bound).Info("m", slog.Group("g", "n", 1))
	slog.New(h).Info("other", "a", lists)
	slog.New(h).Info("m", "a", lists)
	for i, raw := range tr.Records() {
		r := decoded(t, raw)
		assert.Equal(t, "3", r.fields["truncated"], "record %d, %s", i, r.event)
	}
}

// TestLoggerOfAnotherHandler: with a handler that does not have the declaration, the fields and attributes of a Logger are in the level's
// event.
func TestLoggerOfAnotherHandler(t *testing.T) {
	type record struct {
		N int `uevent:"n"`
	}
	d := sloghandler.Declare[record]("m", nil)
	h, tr := attached(t, sloghandler.Options{})
	d.Logger(h).Log(t.Context(), slog.LevelInfo, &record{7})
	assert.JSONEq(t, `{"n":7}`, only(t, tr).json)
	d.Logger(h).LogAttrs(t.Context(), slog.LevelInfo, slog.Int("n", 8), slog.Bool("more", true))
	assert.JSONEq(t, `{"n":8,"more":true}`, only(t, tr).json)
}
