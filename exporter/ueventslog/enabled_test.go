package ueventslog_test

import (
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
