package usereventsreceiver

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

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
