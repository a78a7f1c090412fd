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
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
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

// TestStatus: while something is missing, the hosts of all receivers learn that once, and later that it is there.
func TestStatus(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	denied := fmt.Errorf("reading events: %w", fs.ErrPermission)
	m.errs = []error{fs.ErrNotExist, denied, denied, denied}
	cfg := fast()
	var logs consumertest.LogsSink
	set := receivertest.NewNopSettings(metadata.Type)
	lr, err := m.factory.CreateLogs(t.Context(), set, cfg, &logs)
	require.NoError(t, err)
	tr, err := m.factory.CreateTraces(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	early, late := newHost(), newHost()
	require.NoError(t, lr.Start(t.Context(), early))
	defer func() { assert.NoError(t, lr.Shutdown(t.Context())) }()
	testscale.Eventually(t, func() bool { return m.sources() == 1 }, "no source is opened")
	testscale.Eventually(t, func() bool { n, _, _ := early.last(); return n == 3 }, "no status is reported")
	early.mu.Lock()
	assert.ErrorIs(t, early.events[0].Err(), fs.ErrNotExist)
	assert.Equal(t, componentstatus.StatusRecoverableError, early.events[0].Status())
	assert.ErrorIs(t, early.events[1].Err(), fs.ErrPermission)
	assert.Equal(t, componentstatus.StatusRecoverableError, early.events[1].Status())
	assert.Equal(t, componentstatus.StatusOK, early.events[2].Status())
	early.mu.Unlock()
	require.NoError(t, tr.Start(t.Context(), late))
	n, last, err := late.last()
	assert.Equal(t, 1, n)
	assert.Equal(t, componentstatus.StatusOK, last)
	require.NoError(t, err)

	l.Info("hello")
	testscale.Eventually(t, func() bool { return logs.LogRecordCount() == 1 }, "no record arrives")
}

// TestShutdownWhileMissing: Shutdown does not wait for the next attempt.
func TestShutdownWhileMissing(t *testing.T) {
	m := newMachine(t, nil)
	m.errs = []error{fs.ErrNotExist}
	cfg := fast()
	cfg.Discovery.RetryInterval = time.Hour
	r, err := m.factory.CreateLogs(t.Context(), receivertest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	h := newHost()
	require.NoError(t, r.Start(t.Context(), h))
	testscale.Eventually(t, func() bool { n, _, _ := h.last(); return n == 1 }, "no status is reported")
	require.NoError(t, r.Shutdown(t.Context()))
	require.NoError(t, r.Shutdown(t.Context()), "a second Shutdown")
	assert.Zero(t, m.sources())
}

// TestKernelWithout: on a kernel without user_events, the error does not name a missing file only, but says what is missing.
func TestKernelWithout(t *testing.T) {
	missing := fmt.Errorf("open user_events_status: %w", fs.ErrNotExist)
	unmounted := fmt.Errorf("%w: tracefs is not mounted here, so it cannot be told whether the kernel has user_events", fs.ErrNotExist)
	unsupported := fmt.Errorf("%w: built without CONFIG_USER_EVENTS", uevents.ErrNotSupported)
	for _, c := range []struct{ err, probe, want error }{
		{missing, unsupported, unsupported},
		{missing, unmounted, unmounted},
		{missing, nil, missing},
		{missing, fs.ErrPermission, missing},
		{fs.ErrPermission, unsupported, fs.ErrPermission},
	} {
		assert.Equal(t, c.want, explain(c.err, func() error { return c.probe }))
	}
}

// startLogged starts a receiver, and returns its host and what it logs from level info on.
func (m *machine) startLogged(cfg *Config, s *sink) (shutdown func(), h *host, logs *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.InfoLevel)
	set := receivertest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	r, err := m.factory.CreateLogs(m.t.Context(), set, cfg, s)
	require.NoError(m.t, err)
	h = newHost()
	require.NoError(m.t, r.Start(m.t.Context(), h))
	return func() { require.NoError(m.t, r.Shutdown(m.t.Context())) }, h, logs
}

// TestKernelLater: while the kernel refuses its events, the receiver reads those in shared memory, and its status has the reason. Later it
// reads both, and loses nothing that was written before.
func TestKernelLater(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	m.kernel = fmt.Errorf("no CAP_PERFMON: %w", fs.ErrPermission)
	var s sink
	shutdown, h, _ := m.startLogged(fast(), &s)
	testscale.Eventually(t, func() bool { n, _, _ := h.last(); return n == 1 }, "no status is reported")
	_, status, err := h.last()
	assert.Equal(t, componentstatus.StatusRecoverableError, status)
	assert.EqualError(t, err, "only events in shared memory are read: no CAP_PERFMON: permission denied")
	l.Info("in memory")
	l.Info("not yet read")
	m.mu.Lock()
	m.kernel = nil
	m.mu.Unlock()
	h.awaitOK(t)
	testscale.Eventually(t, func() bool { return m.sources() == 2 }, "no other source is opened")
	testscale.Eventually(t, func() bool { return l.Enabled(t.Context(), 0) }, "it reads nothing")
	l.Info("in both")
	shutdown()
	assert.Equal(t, []string{"in memory", "not yet read", "in both"}, s.bodies())
	assert.Equal(t, 2, m.sources())
}

// TestKernelUnsupported: a kernel without user_events is not tried again, and the status is OK.
func TestKernelUnsupported(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	m.kernel = fmt.Errorf("%w: built without CONFIG_USER_EVENTS", uevents.ErrNotSupported)
	cfg := fast()
	var s sink
	shutdown, h, logs := m.startLogged(cfg, &s)
	h.awaitOK(t)
	l.Info("in memory")
	testscale.Eventually(t, func() bool { return len(s.bodies()) == 1 }, "no record arrives")
	ses := &session{cfg: cfg, kernel: kernelUnsupported}
	assert.Equal(t, checkInterval, ses.nextCheck())
	assert.Equal(t, cfg.Discovery.RetryInterval, (&session{cfg: cfg, kernel: kernelRefuses}).nextCheck())
	shutdown()
	assert.Equal(t, 1, m.tried)
	reasons := logs.FilterMessage("only events in shared memory are read").All()
	require.Len(t, reasons, 1)
	assert.Contains(t, reasons[0].ContextMap()["reason"], "CONFIG_USER_EVENTS")
}

// TestTransportChosen: one that the configuration names is the only one, and no other is missing.
func TestTransportChosen(t *testing.T) {
	refused := errors.New("refused")
	for _, transport := range []Transport{transportMemory, transportKernel} {
		m := newMachine(t, nil)
		m.logger("myapp")
		if transport == transportMemory {
			m.kernel = refused
		}
		cfg := fast()
		cfg.Transport = transport
		shutdown, h, logs := m.startLogged(cfg, new(sink))
		h.awaitOK(t)
		shutdown()
		assert.Equal(t, transport == transportKernel, m.tried == 1)
		assert.Empty(t, logs.FilterMessageSnippet("only events").All())
	}
}

// TestRights: the receiver says which capabilities and which namespace it lacks to read all programs.
func TestRights(t *testing.T) {
	for _, c := range []struct {
		capabilities []string
		hostPIDs     bool
		missing      []string
	}{
		{nil, true, nil},
		{nil, false, []string{"the host's process ids (hostPID: true)"}},
		{[]string{"CAP_SYS_PTRACE"}, true, []string{"CAP_SYS_PTRACE"}},
		{[]string{"CAP_SYS_PTRACE"}, false, []string{"CAP_SYS_PTRACE", "the host's process ids (hostPID: true)"}},
	} {
		assert.Equal(t, c.missing, missingRights(c.capabilities, c.hostPIDs), c)
	}
}
