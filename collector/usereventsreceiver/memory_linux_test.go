//go:build !386 && !arm && !mips && !mipsle

package usereventsreceiver

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// TestMemoryPrograms: two programs offer events of one name with different fields in shared memory at the same time.
func TestMemoryPrograms(t *testing.T) {
	testscale.HostOnly(t)
	testPrograms(t, transportMemory, transportMemory, 1)
}

// TestKernelAndMemory: one of them has the kernel's events.
func TestKernelAndMemory(t *testing.T) {
	kerneltest.Require(t)
	testPrograms(t, transportKernel, transportAny, 2)
}

// testPrograms runs two programs that end as soon as they have written, the second one with events in shared memory. All records arrive, with
// the fields of their program and its identity, which is the kernel's. They write when there were notices of so many attached events: the
// kernel enables an event before it is attached on all processors.
func testPrograms(t *testing.T, first, read Transport, notices int) {
	var s consumertest.LogsSink
	cfg := fast()
	cfg.Events, cfg.Transport, cfg.Discovery.PollInterval = []string{"rcvupgrade"}, read, cfg.Batch.Timeout
	settings := receivertest.NewNopSettings(metadata.Type)
	core, logged := observer.New(zap.DebugLevel)
	settings.Logger = zap.New(core)
	r, err := NewFactory().CreateLogs(t.Context(), settings, cfg, &s)
	require.NoError(t, err)
	h := newHost()
	require.NoError(t, r.Start(t.Context(), h))
	h.awaitOK(t)

	write := make(chan struct{})
	fields := map[int]map[string]any{} // of the first record, by process
	var programs []*exec.Cmd
	for _, p := range []struct {
		role      string
		transport Transport
		record    map[string]any
	}{
		{"version 1", first, map[string]any{"status": int64(0)}},
		{"version 2", transportMemory, map[string]any{"status": int64(0), "route": "/0"}},
	} {
		cmd := childCommand(t, p.role)
		cmd.Env = append(cmd.Env, envChildTransport+"="+string(p.transport))
		cmd.Stdin, cmd.Stdout = endsAfter(write), new(bytes.Buffer)
		cmd.Stderr = cmd.Stdout
		require.NoError(t, cmd.Start())
		programs = append(programs, cmd)
		p.record["user_events.name"] = "rcvupgrade"
		fields[cmd.Process.Pid] = p.record
	}
	testscale.Eventually(t, func() bool { return logged.FilterMessage(reader.NoticeAttached.String()).Len() >= notices }, "events are not attached")
	close(write) // each also waits until its event is enabled: the second program's may not be, if both are in shared memory
	for _, cmd := range programs {
		require.NoError(t, cmd.Wait(), cmd.Stdout)
	}
	testscale.Eventually(t, func() bool { return s.LogRecordCount() == len(programs)*childRecords }, "not all records arrive")
	ses := r.(*session)
	testscale.Eventually(t, func() bool { return ses.attached() == 0 }, "events of programs that have ended are attached")
	require.NoError(t, r.Shutdown(t.Context()))

	counts := map[int]int{}
	for _, data := range s.AllLogs() {
		for _, rl := range data.ResourceLogs().All() {
			resource := rl.Resource().Attributes().AsRaw()
			pid := int(resource["process.pid"].(int64))
			name := "usereventsreceiver.test"
			if first == transportKernel && pid == programs[0].Process.Pid {
				name = name[:15] // it has ended before its first record was read
			}
			assert.Contains(t, resource["process.executable.name"], name)
			records := rl.ScopeLogs().At(0).LogRecords()
			if counts[pid] == 0 {
				assert.Equal(t, fields[pid], records.At(0).Attributes().AsRaw())
			}
			counts[pid] += records.Len()
		}
	}
	assert.Len(t, counts, len(programs))
	for pid, n := range counts {
		assert.Equal(t, childRecords, n, pid)
	}
}

// TestNeighbour: of two programs that flood shared memory and one that writes 50 records a second, the latter loses nothing, and the others
// are limited, which the metrics say.
func TestNeighbour(t *testing.T) {
	testscale.HostOnly(t)
	testNeighbour(t, transportMemory)
}
