package ueventslog_test

import (
	"context"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
)

func contextDone(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// severities are all severities, and some that are none.
func severities() (all []log.Severity) {
	for s := log.Severity(-1); s <= 26; s++ {
		all = append(all, s)
	}
	return append(all, math.MinInt, math.MaxInt)
}

// eventOf returns the event that records of a severity belong to.
func eventOf(s log.Severity) string {
	switch {
	case s <= 0:
		return "app_log_info"
	case s <= 8:
		return "app_log_debug"
	case s <= 12:
		return "app_log_info"
	case s <= 16:
		return "app_log_warn"
	default:
		return "app_log_error"
	}
}

func levelOf(s log.Severity) string {
	switch {
	case s > 20:
		return "app_L1K1"
	default:
		return map[string]string{"app_log_debug": "app_L5K1", "app_log_info": "app_L4K1", "app_log_warn": "app_L3K1", "app_log_error": "app_L2K1"}[eventOf(s)]
	}
}

// TestSeverities: a record of each severity goes to its event, and to no other.
func TestSeverities(t *testing.T) {
	for name, c := range map[string]struct {
		encoding ueventslog.Option
		event    func(log.Severity) string
		events   []string
	}{
		"typed":         {nil, eventOf, []string{"app_log_debug", "app_log_info", "app_log_warn", "app_log_error"}},
		"common schema": {ueventslog.WithCommonSchema4(), levelOf, []string{"app_L1K1", "app_L2K1", "app_L3K1", "app_L4K1", "app_L5K1"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRig(t, c.encoding)
			var registered []string
			for _, e := range rig.kernel.Events() {
				registered = append(registered, e.Name)
			}
			require.ElementsMatch(t, c.events, registered)
			for _, event := range c.events {
				tr := rig.attach(t, event)
				var want []string
				for _, s := range severities() {
					rig.logger().Emit(t.Context(), record(s, strconv.Itoa(int(s))))
					if c.event(s) == event {
						want = append(want, event)
					}
				}
				var got []string
				for _, r := range tr.Records() {
					got = append(got, r.Event)
				}
				assert.Equal(t, want, got)
				tr.Detach()
			}
		})
	}
}
