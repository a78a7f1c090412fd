package ueventslog_test

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
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

// declaredForEnabled are declared for all severities, and for warnings only.
var declaredForEnabled = ueventslog.WithDeclarations(
	ueventslog.Declare[number]("any.severity", nil),
	ueventslog.Declare[number]("only.warn", &ueventslog.DeclarationOptions{Severities: []log.Severity{log.SeverityWarn3}}),
)

// TestEnabled is the truth table: what is attached, what is asked.
func TestEnabled(t *testing.T) {
	type question struct {
		severity log.Severity
		event    string
	}
	events := []string{"", "undeclared", "any.severity", "only.warn"}
	// What is listed is enabled, for all events where there is a star; nothing else of what is asked is.
	for attached, enabled := range map[string][]question{
		"":              nil,
		"app_log_debug": {{0, "*"}, {5, "*"}},
		"app_log_info":  {{0, "*"}, {9, "*"}},
		"app_log_warn":  {{0, "*"}, {13, "*"}},
		"app_log_error": {{0, "*"}, {17, "*"}, {24, "*"}},
		"app_log_any_severity": {
			{0, ""},
			{0, "any.severity"},
			{5, ""},
			{5, "any.severity"},
			{9, ""},
			{9, "any.severity"},
			{13, ""},
			{13, "any.severity"},
			{17, ""},
			{17, "any.severity"},
			{24, ""},
			{24, "any.severity"},
		},
		"app_log_only_warn": {{0, ""}, {0, "only.warn"}, {13, ""}, {13, "only.warn"}},
	} {
		for _, abi := range []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress} {
			t.Run(path.Join(fmt.Sprint(abi), "attached:"+attached), func(t *testing.T) {
				k := ueventstest.New(t, &ueventstest.Options{ABI: abi})
				provider := k.Provider()
				defer provider.Close()
				p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), declaredForEnabled)
				assert.NoError(t, err)
				logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("x")
				own, err := ueventslog.NewLoggerProvider("app", ueventslog.WithProvider(provider), declaredForEnabled)
				assert.NoError(t, err)
				if attached != "" {
					_, err := k.Attach(ueventstest.Perf, attached)
					assert.NoError(t, err)
				}
				want := map[question]bool{}
				for _, q := range enabled {
					want[q] = true
					for _, event := range events {
						want[question{q.severity, event}] = want[question{q.severity, event}] || q.event == "*"
					}
				}
				for _, s := range []log.Severity{0, 5, 9, 13, 17, 24} {
					for _, event := range events {
						q := question{s, event}
						assert.Equal(t, want[q], p.Enabled(t.Context(), sdklog.EnabledParameters{Severity: s, EventName: event}), "processor: %v", q)
						assert.Equal(t, want[q], logger.Enabled(t.Context(), log.EnabledParameters{Severity: s, EventName: event}), "SDK: %v", q)
						assert.Equal(t, want[q], own.Logger("x").Enabled(t.Context(), log.EnabledParameters{Severity: s, EventName: event}), "own: %v", q)
					}
				}
			})
		}
	}
}
