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

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestSizes logs records of growing sizes: each is written, none is above the limit, and
// what had to be truncated is counted.
func TestSizes(t *testing.T) {
	for _, o := range []sloghandler.Options{
		{},
		{AddSource: true},
		{MaxPayload: 300},
		{Declarations: []sloghandler.AnyDeclaration{httpRequest}},
	} {
		t.Run(fmt.Sprintf("%d %v %d", o.MaxPayload, o.AddSource, len(o.Declarations)), func(t *testing.T) {
			h, tr := attached(t, o)
			limit := o.MaxPayload
			if limit == 0 {
				limit = uevents.MaxPayload
			}
			records, copies := 0, map[bool]int{false: 1, true: 2}
			for n := 0; n < 120; n += testscale.Count(1, 9) {
				long := strings.Repeat("é", n*n/2)
				for _, message := range []string{"http request", "m" + long} {
					slog.New(h).With("with", long).Info(message, "method", long, "route", long, slog.Group("g", "text", long), "n", n)
					raw := tr.Records()
					records += len(raw)
					require.Len(t, raw, copies[message == "http request" && len(o.Declarations) > 0], "%d", n)
					for _, raw := range raw {
						assert.LessOrEqual(t, len(raw.Payload), limit)
						r := decoded(t, raw)
						// A member that was dropped has no mark: all long texts must be there.
						delete(r.fields, "attributes") // it is r.json
						text := fmt.Sprint(r.fields, r.json)
						whole := !strings.Contains(text, "...") && strings.Contains(text, `"n":`+strconv.Itoa(n)) &&
							strings.Count(text, long) >= 4+strings.Count(message, "m"+long)
						require.Equal(t, whole, r.fields["truncated"] == "0", "%d bytes: %.2000s", n*n, text)
						for name, value := range r.fields {
							assert.True(t, utf8.ValidString(value), name)
						}
					}
				}
			}
			assert.Zero(t, tr.Oversized())
			var written, truncated uint64
			for _, s := range h.Stats() {
				written += s.Written
				truncated += s.Truncated
				assert.Zero(t, s.Refused)
			}
			assert.EqualValues(t, records, written)
			assert.Positive(t, truncated)
			assert.Less(t, truncated, written)
		})
	}
}
