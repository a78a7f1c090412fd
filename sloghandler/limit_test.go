package sloghandler_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// longFields are the fields of a declared record whose names take much of a small limit.
type longFields struct {
	N    int64  `uevent:"n"`
	Text string `uevent:"long_long_long_long_long_long_long_long_long_long_long_long_"`
}

var longName = sloghandler.Declare[longFields]("declared", &sloghandler.DeclarationOptions{Name: strings.Repeat("long_name_", 12)})

// TestEveryLimit: New refuses a limit, or all records can be written under it, whatever they hold. None disappears.
func TestEveryLimit(t *testing.T) {
	testscale.HostOnly(t)
	accepted := 0
	long := strings.Repeat("long ", 100)
	step := testscale.Count(1, 7)
	for limit := 1; limit < 500; limit += step {
		k := ueventstest.New(t, nil)
		p := k.Provider()
		h, err := sloghandler.New("app", &sloghandler.Options{
			Provider: p, MaxPayload: limit, AddSource: true, Declarations: []sloghandler.AnyDeclaration{longName},
			TraceContext: func(context.Context) ([16]byte, [8]byte) { return [16]byte{1}, [8]byte{2} },
		})
		if err == nil {
			accepted++
			tr, err := k.Attach(ueventstest.Ftrace, "app_*")
			require.NoError(t, err)
			logged := 0
			for _, message := range []string{"", "m", long, "declared"} {
				r := slog.NewRecord(time.Now(), slog.LevelError, message, here())
				r.AddAttrs(slog.Int("n", 1), slog.String("text", long), slog.Group("g", slog.Bool("b", true)))
				assert.NoError(t, h.Handle(t.Context(), r), "limit %d, message %.10q", limit, message)
				records := tr.Records()
				assert.NotEmpty(t, records, "limit %d, message %.10q", limit, message)
				logged += len(records)
				for _, raw := range records {
					assert.LessOrEqual(t, len(raw.Payload), limit)
					assert.NotEqual(t, "0", decoded(t, raw).fields["truncated"])
				}
			}
			var written, failed, cut uint64
			for _, s := range h.Stats() {
				written, failed, cut = written+s.Written, failed+s.Refused, cut+s.Truncated
			}
			assert.EqualValues(t, logged, written, "limit %d", limit)
			assert.EqualValues(t, logged, cut, "limit %d", limit)
			assert.Zero(t, failed, "limit %d", limit)
		}
		require.NoError(t, h.Close())
		require.NoError(t, p.Close())
	}
	assert.Greater(t, accepted, 100/step)
}
