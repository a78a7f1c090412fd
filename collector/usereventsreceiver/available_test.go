package usereventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// availability returns the values of the metric that says what is read, as "TRANSPORT REASON".
func availability(t *testing.T, telemetry *componenttest.Telemetry) map[string]int64 {
	t.Helper()
	values := map[string]int64{}
	m, err := telemetry.GetMetric("otelcol_receiver_user_events_available")
	if err != nil {
		return values // it is not known yet
	}
	for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
		transport, _ := p.Attributes.Value("transport")
		reason, _ := p.Attributes.Value("reason")
		values[transport.AsString()+" "+reason.AsString()] = p.Value
	}
	return values
}

// TestAvailable: a receiver that reads nothing, or not all, says so and why, in a metric and as its status. One whose programs write nothing
// does not look like it.
func TestAvailable(t *testing.T) {
	denied := fmt.Errorf("no CAP_PERFMON: %w", fs.ErrPermission)
	unmounted := fmt.Errorf("tracefs is not mounted: %w", fs.ErrNotExist)
	unsupported := fmt.Errorf("%w: built without CONFIG_USER_EVENTS", uevents.ErrNotSupported)
	for _, c := range []struct {
		transport Transport
		open      error // of all transports
		kernel    error // of the kernel's events alone
		status    componentstatus.Status
		want      map[string]int64
	}{
		{transportAny, nil, nil, componentstatus.StatusOK, map[string]int64{"kernel ": 1, "memory ": 1}},
		{transportKernel, nil, nil, componentstatus.StatusOK, map[string]int64{"kernel ": 1}},
		{transportMemory, nil, unsupported, componentstatus.StatusOK, map[string]int64{"memory ": 1}},
		{transportAny, nil, denied, componentstatus.StatusRecoverableError, map[string]int64{"kernel permission": 0, "memory ": 1}},
		{transportAny, nil, unmounted, componentstatus.StatusRecoverableError, map[string]int64{"kernel not_found": 0, "memory ": 1}},
		{transportAny, nil, unsupported, componentstatus.StatusOK, map[string]int64{"kernel not_supported": 0, "memory ": 1}},
		{transportKernel, denied, nil, componentstatus.StatusRecoverableError, map[string]int64{"kernel permission": 0}},
		{transportKernel, unmounted, nil, componentstatus.StatusRecoverableError, map[string]int64{"kernel not_found": 0}},
		{transportKernel, unsupported, nil, componentstatus.StatusPermanentError, map[string]int64{"kernel not_supported": 0}},
		{transportAny, errors.New("busy"), nil, componentstatus.StatusRecoverableError, map[string]int64{"kernel error": 0, "memory error": 0}},
	} {
		t.Run(fmt.Sprint(c.transport, c.open, c.kernel), func(t *testing.T) {
			m := newMachine(t, nil)
			m.logger("myapp")
			m.kernel = c.kernel
			m.errs = []error{c.open}
			telemetry := componenttest.NewTelemetry()
			cfg := fast()
			cfg.Transport, cfg.Discovery.RetryInterval = c.transport, time.Hour // one attempt
			r, err := m.factory.CreateLogs(t.Context(), newSettings(telemetry), cfg, consumertest.NewNop())
			require.NoError(t, err)
			h := newHost()
			require.NoError(t, r.Start(t.Context(), h))
			testscale.Eventually(t, func() bool { n, _, _ := h.last(); return n > 0 }, "no status is reported")
			_, status, _ := h.last()
			assert.Equal(t, c.status, status)
			assert.Equal(t, c.want, availability(t, telemetry))
			require.NoError(t, r.Shutdown(t.Context()))
			require.NoError(t, telemetry.Shutdown(context.Background()))
		})
	}
}

// TestAvailableLater: the metric changes with what is read.
func TestAvailableLater(t *testing.T) {
	m := newMachine(t, nil)
	m.logger("myapp")
	m.kernel = fs.ErrPermission
	_, telemetry := m.start(fast(), consumertest.NewNop())
	testscale.Eventually(t, func() bool { return len(availability(t, telemetry)) == 2 }, "the metric has no value")
	assert.Equal(t, map[string]int64{"kernel permission": 0, "memory ": 1}, availability(t, telemetry))
	m.mu.Lock()
	m.kernel = nil
	m.mu.Unlock()
	testscale.Eventually(t, func() bool {
		return assert.ObjectsAreEqual(map[string]int64{"kernel ": 1, "memory ": 1}, availability(t, telemetry))
	}, "the kernel's events are not read")
}
