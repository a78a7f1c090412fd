package collectortest

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
)

// staying collects everything, and stays attached when a program ends while others have only registered the event.
const staying = "  user_events: {events: [collected], exclude: ['*_span_start'], discovery: {poll_interval: 20ms, release_on_exit: false}}"

// arrive waits until n log records have arrived, and checks that none was lost or dropped.
func (c *collector) arrive(n int) {
	c.tb.Helper()
	c.until("all records have arrived", func() bool { return c.received().Logs >= n })
	lost, dropped := c.losses()
	require.Equal(c.tb, []int{n, 0, 0}, []int{c.received().Logs, lost, dropped}, "arrived, lost, dropped")
}

// TestOtherPIDNamespace: without the host's PID namespace, all records arrive, without process and with a hint, while other processes
// start and end.
func TestOtherPIDNamespace(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "taskset")
	const records = 200
	w := launchWriter(t, "slog", 0, records, 50)
	c := start(t, settings{receivers: everything, sink: "    detailed: true", process: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}})
	c.attached(dir)
	w.start()
	for range 10 {
		require.NoError(t, exec.Command("true").Run())
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // pacing
	}
	w.end()
	c.arrive(records)
	assert.Equal(t, map[string]int{"": records}, c.received().Programs)
	assert.Contains(t, c.said(), "hostPID: true")
	c.end()
}

// TestClockSet: the machine's clock is set forth and back by an hour. All records arrive, with the time of the clock, and no later than
// before.
func TestClockSet(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "taskset")
	const records = 100
	steps := []time.Duration{0, time.Hour, -time.Hour}
	var writers []*program
	for range steps {
		writers = append(writers, launchWriter(t, "slog", 0, records, 0))
	}
	c := start(t, settings{receivers: staying, sink: "    delays: true"})
	c.attached(dir)
	for i, step := range steps {
		to := syscall.NsecToTimeval(time.Now().Add(step).UnixNano())
		require.NoError(t, syscall.Settimeofday(&to))
		writers[i].start()
		writers[i].end()
		c.arrive((i + 1) * records) // within minutes, which are less than a step
	}
	for ms := range c.received().Delays {
		assert.InDelta(t, 0, ms, float64(time.Hour.Milliseconds()/2), "milliseconds from a record's time to its arrival")
	}
	c.end()
}

// TestProcessorOffline: a processor goes offline and returns. All records that programs write on it before and after arrive, as do those of
// the other meanwhile.
func TestProcessorOffline(t *testing.T) {
	const file = "/sys/devices/system/cpu/cpu1/online"
	dir := kerneltest.RequireTool(t, "taskset")
	if _, err := os.Stat(file); err != nil {
		t.Skip("not on this kernel: no CPU can be taken offline")
	}
	set := func(online string) { require.NoError(t, os.WriteFile(file, []byte(online), 0)) }
	t.Cleanup(func() { // if it is still offline
		if err := os.WriteFile(file, []byte("1"), 0); !errors.Is(err, syscall.EINVAL) {
			assert.NoError(t, err)
		}
	})
	const records = 100
	before, meanwhile := launchWriter(t, "slog", 1, records, 0), launchWriter(t, "slog", 0, records, 0)
	c := start(t, settings{receivers: staying, sink: "    detailed: true"})
	c.attached(dir)
	run := func(w *program, arrived int) {
		w.start()
		w.end()
		c.arrive(arrived)
	}
	run(before, records)
	set("0")
	run(meanwhile, 2*records)
	after := launchWriter(t, "slog", 0, records, 0) // its events are those of the others
	set("1")
	again := 0 // records that are written on it until one of them arrives
	c.until("records of the processor arrive again", func() bool {
		again++
		w := launchWriter(t, "slog", 1, 1, 0)
		w.start()
		w.end()
		return c.received().Logs > 2*records
	})
	require.NoError(t, exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", "1", strconv.Itoa(after.cmd.Process.Pid)).Run())
	after.start()
	after.end()
	c.until("all records have arrived", func() bool { return c.received().Logs > 3*records })
	assert.LessOrEqual(t, c.received().Events["collected_slog_info"], 3*records+again)
	lost, dropped := c.losses()
	assert.Zero(t, lost+dropped)
	c.end()
}
