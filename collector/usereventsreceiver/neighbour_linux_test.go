package usereventsreceiver

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// flood writes records of an event as fast as it can, until its input ends.
func flood(t *testing.T, event string) {
	e, end := define(t, event)
	for {
		select {
		case <-end:
			return
		default:
		}
		if e.Emit(&version2{Route: "/users/{id}/orders/{order}/items"}); !e.Enabled() {
			time.Sleep(time.Millisecond) //nolint:forbidigo // pacing
		}
	}
}

// trickled is how many records trickle writes.
const trickled = 100

// trickle writes 50 records a second, when its input ends.
func trickle(t *testing.T, event string) {
	e, end := define(t, event)
	<-end
	for i := range trickled {
		require.True(t, e.Enabled(), "the event is disabled")
		e.Emit(&version2{Route: "/", Status: uint16(i)})
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // pacing
	}
}

// define defines an event, and waits until it is enabled. end is closed when the input ends.
func define(t *testing.T, event string) (*structevent.Event[version2], <-chan struct{}) {
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	e, err := structevent.Define[version2](p, event, nil)
	require.NoError(t, err)
	end := make(chan struct{})
	go func() {
		defer close(end)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	testscale.Eventually(t, e.Enabled, "the event is not enabled")
	return e, end
}

// TestKernelNeighbour is TestNeighbour for the kernel's events, once the floods were limited for the first time.
func TestKernelNeighbour(t *testing.T) {
	kerneltest.Require(t)
	testNeighbour(t, transportKernel)
}

func testNeighbour(t *testing.T, transport Transport) {
	var s sink
	cfg := fast()
	cfg.Events, cfg.Transport, cfg.BudgetMiB = []string{"rcvshare"}, transport, 4
	cfg.ProgramLimit = ProgramLimitConfig{RecordsPerSecond: 1000, KiBPerSecond: 1 << 20}
	r, telemetry := collect(t, cfg, &s, zap.NewNop())
	type program struct {
		*exec.Cmd
		input io.Closer
	}
	start := func(role string) program {
		cmd := childCommand(t, role)
		cmd.Env = append(cmd.Env, envChildTransport+"="+string(transport))
		input, err := cmd.StdinPipe()
		require.NoError(t, err)
		cmd.Stdout = new(bytes.Buffer)
		cmd.Stderr = cmd.Stdout
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // which has ended, if nothing is wrong
		return program{cmd, input}
	}
	end := func(p program) {
		require.NoError(t, p.input.Close())
		require.NoError(t, p.Wait(), "%s", p.Stdout)
	}
	of := func(event string) attribute.KeyValue { return attribute.String("event", "user_events:"+event) }
	floods := []string{"rcvshare_a", "rcvshare_b"}
	var programs []program
	for _, role := range floods {
		programs = append(programs, start(role))
	}
	modest := start("rcvshare_modest")
	for _, role := range floods {
		testscale.Eventually(t, func() bool { return counter(t, telemetry, "user_events_limits", of(role)) > 0 }, "a flood is not limited")
	}
	end(modest)
	for _, p := range programs {
		end(p)
	}
	require.NoError(t, r.Shutdown(t.Context()))

	arrived := map[string]int{}
	for lr := range recordsOf(s.AllLogs()) {
		name, _ := lr.Attributes().Get("user_events.name")
		arrived[name.Str()]++
	}
	assert.Equal(t, trickled, arrived["rcvshare_modest"])
	assert.Zero(t, counter(t, telemetry, "user_events_lost_records", of("rcvshare_modest")))
	assert.Zero(t, counter(t, telemetry, "user_events_limits", of("rcvshare_modest")))
	m, err := telemetry.GetMetric("otelcol_receiver_user_events_limited_time")
	require.NoError(t, err)
	limited := map[string]float64{}
	for _, p := range m.Data.(metricdata.Sum[float64]).DataPoints {
		event, _ := p.Attributes.Value("event")
		limited[event.AsString()] += p.Value
	}
	for _, role := range floods {
		assert.Positive(t, limited["user_events:"+role])
		t.Logf("%s: %d records arrived, %d were lost, disabled %d times for %.1f s", role, arrived[role],
			counter(t, telemetry, "user_events_lost_records", of(role)), counter(t, telemetry, "user_events_limits", of(role)), limited["user_events:"+role])
	}
	assert.Len(t, limited, len(floods))
}
