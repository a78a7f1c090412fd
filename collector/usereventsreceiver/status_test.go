package usereventsreceiver

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

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
