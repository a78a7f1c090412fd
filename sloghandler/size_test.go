package sloghandler_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestSizes logs records of growing sizes: each is written, none is above the limit, and
// what had to be cut is counted.
func TestSizes(t *testing.T) {
	declared := httpRequest
	for _, o := range []sloghandler.Options{
		{},
		{AddSource: true},
		{MaxPayload: 300},
		{Records: []sloghandler.Record{declared}},
		{Encoding: sloghandler.EventHeader},
		{Encoding: sloghandler.EventHeader, MaxPayload: 300},
		{Encoding: sloghandler.EventHeader, Records: []sloghandler.Record{declared}},
	} {
		t.Run(fmt.Sprintf("%d %d %v %d", o.Encoding, o.MaxPayload, o.AddSource, len(o.Records)), func(t *testing.T) {
			h, tr := traced(t, o)
			limit := o.MaxPayload
			if limit == 0 {
				limit = uevents.MaxPayload
			}
			for n := range 120 {
				long := strings.Repeat("é", n*n/2)
				for _, message := range []string{"http request", "m" + long} {
					slog.New(h).With("with", long).Info(message, "method", long, "route", long, slog.Group("g", "text", long), "n", n)
					raw := tr.Records()
					require.Len(t, raw, 1, "%d", n)
					assert.LessOrEqual(t, len(raw[0].Payload), limit)
					r := decoded(t, raw[0])
					// An attribute for which nothing is left is left out without a mark: all long ones must be there.
					delete(r.fields, "attributes") // it is r.json
					text := fmt.Sprint(r.fields, r.json)
					whole := !strings.Contains(text, "...") && strings.Contains(text, `"n":`+strconv.Itoa(n)) &&
						strings.Count(text, long) >= 4+strings.Count(message, "m"+long)
					require.Equal(t, whole, cutCount(r) == "0", "%d bytes: %.2000s", n*n, text)
					for name, value := range r.fields {
						assert.True(t, utf8.ValidString(value), name)
					}
				}
			}
			assert.Zero(t, tr.Oversized())
			var written, cut uint64
			for _, s := range h.Stats() {
				written += s.Written
				cut += s.Cut
				assert.Zero(t, s.Failed)
			}
			assert.EqualValues(t, 240, written)
			assert.Positive(t, cut)
			assert.Less(t, cut, written)
		})
	}
}

// cutCount returns how many values were cut or left out.
func cutCount(r decodedRecord) string {
	if n, ok := r.fields["truncated"]; ok {
		return n
	}
	return orZero(r.fields["_truncated"])
}

// TestTinyLimit: there must be room for what every record has.
func TestTinyLimit(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer p.Close()
	h, err := sloghandler.New("tiny", &sloghandler.Options{Provider: p, MaxPayload: 20})
	require.ErrorContains(t, err, "a limit of 20 bytes is too small")
	_, err = k.Attach(ueventstest.Ftrace, "tiny_*")
	require.NoError(t, err)
	slog.New(h).Error("goes nowhere")
	assert.False(t, h.Traced(slog.LevelError))
}
