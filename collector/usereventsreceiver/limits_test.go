package usereventsreceiver

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/reader"
)

// TestLimits: while programs are above their share, the log has a line a minute, and the metric all. The rest of the last minute is logged by a
// check of the source.
func TestLimits(t *testing.T) {
	src := &machineSource{m: newMachine(t, nil)}
	synctest.Test(t, func(t *testing.T) {
		s, telemetry, logged := observed(t)
		s.cfg.Transport = transportMemory
		check := func() {
			_, err := s.check(src)
			require.NoError(t, err)
		}
		check()
		logged.TakeAll()
		const seconds, events = 90, 2 * maxLimited
		for range seconds {
			for i := range events {
				s.notice(reader.Notice{Kind: reader.NoticeLimited, Event: fmt.Sprintf("user_events:e%02d", i), Count: uint64(i + 1), Gap: time.Millisecond})
			}
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		}
		entries := logged.TakeAll()
		require.Len(t, entries, 2)
		assert.Equal(t, "events were disabled, since their programs were above their share", entries[0].Message)
		assert.Equal(t, map[string]any{"events": int64(1), "most": []any{"user_events:e00"}, "times": uint64(1), "for": time.Millisecond}, entries[0].ContextMap())
		second := entries[1].ContextMap()
		assert.EqualValues(t, events, second["events"])
		most := second["most"].([]any)
		assert.Len(t, most, maxLimited)
		assert.Equal(t, "user_events:e19", most[0])

		check()
		assert.Zero(t, logged.Len())
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
		check()
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		check()
		third := logged.TakeAll()
		require.Len(t, third, 1)
		of := func(e observer.LoggedEntry) (uint64, time.Duration) {
			c := e.ContextMap()
			return c["times"].(uint64), c["for"].(time.Duration)
		}
		var times uint64
		var gap time.Duration
		for _, e := range append(entries, third...) {
			n, d := of(e)
			times, gap = times+n, gap+d
		}
		assert.EqualValues(t, seconds*events*(events+1)/2, times)
		assert.Equal(t, seconds*events*time.Millisecond, gap)
		assert.EqualValues(t, times, counter(t, telemetry, "user_events_limits"))
	})
}
