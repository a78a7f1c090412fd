package ueventslog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
)

// always is a processor that wants everything and does nothing with it.
type always struct{}

func (always) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (always) OnEmit(context.Context, *sdklog.Record) error           { return nil }
func (always) Shutdown(context.Context) error                         { return nil }
func (always) ForceFlush(context.Context) error                       { return nil }

// TestGate: the provider behind the gate sees the records whose events are enabled, and no more.
func TestGate(t *testing.T) {
	rig := newRig(t, ueventslog.WithRecords(ueventslog.Record{EventName: "http.request"}))
	logger := ueventslog.NewLoggerProvider(rig.provider, rig.Processor).Logger("my/package", log.WithInstrumentationVersion("v1.2.3"))
	emit := func() {
		logger.Emit(t.Context(), record(log.SeverityInfo, "info"))
		logger.Emit(t.Context(), record(log.SeverityError, "error"))
		logger.Emit(t.Context(), event(log.SeverityInfo, "http.request"))
	}
	emit()
	assert.Empty(t, rig.memory.records)

	tr := rig.attach(t, "app_log_error")
	emit()
	got := fields(t, tr)
	assert.Equal(t, "error", got["body"])
	assert.Equal(t, "v1.2.3", got["scope_version"], "the logger's options go to the provider behind")
	assert.Len(t, rig.memory.records, 1)
	tr.Detach()

	tr = rig.attach(t, "app_log_http_request")
	emit()
	assert.Equal(t, "app_log_http_request", one(t, tr).Event())
	assert.Len(t, rig.memory.records, 2)
	tr.Detach()
	emit()
	assert.Len(t, rig.memory.records, 2)
}

// TestGateAsksBehind: an open gate does not mean that the provider behind wants the record.
func TestGateAsksBehind(t *testing.T) {
	rig, _ := traced(t)
	enabled := func(behind log.LoggerProvider) bool {
		return ueventslog.NewLoggerProvider(behind, rig.Processor).Logger("x").Enabled(t.Context(), log.EnabledParameters{Severity: log.SeverityInfo})
	}
	assert.True(t, enabled(rig.provider))
	assert.False(t, enabled(nil))
	assert.False(t, enabled(sdklog.NewLoggerProvider()))
	assert.NotPanics(t, func() {
		ueventslog.NewLoggerProvider(nil, rig.Processor).Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m"))
	})
}

func TestGateAfterShutdown(t *testing.T) {
	rig, tr := traced(t)
	logger := ueventslog.NewLoggerProvider(rig.provider, rig.Processor).Logger("x")
	assert.NoError(t, rig.provider.Shutdown(t.Context()))
	assert.False(t, logger.Enabled(t.Context(), log.EnabledParameters{}))
	logger.Emit(t.Context(), record(log.SeverityInfo, "m"))
	assert.Empty(t, tr.Records())
}
