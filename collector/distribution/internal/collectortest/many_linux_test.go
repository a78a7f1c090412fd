package collectortest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestManyEvents: with a thousand events attached, the Collector's own metrics are read without a look at each of them, and at the end all is
// delivered and the Collector shut down before the kernel has detached. It logs how long that takes, and the kernel's memory.
func TestManyEvents(t *testing.T) {
	short(t)
	dir := kerneltest.Require(t)
	const events = 1000
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	var last *uevents.Event
	for i := range events {
		last, err = p.Register(tracepoint.MustParse(fmt.Sprintf("collected_many_%d u32 n", i)), nil)
		require.NoError(t, err)
	}
	c := start(t, settings{receivers: "  user_events: {events: [no_such_event]}"})
	before := kernelMemory(t)
	c.end()
	c = start(t, settings{receivers: everything})
	c.until("all events are attached", func() bool { return c.scrape().sum(attachedEvents) == events })
	t.Logf("%d KiB of kernel memory for %d events, with rings", (kernelMemory(t)-before)>>10, events)

	const scrapes = 20
	processor, began := c.processorTime(), time.Now()
	for range scrapes {
		c.scrape()
	}
	t.Logf("a scrape takes %v, and %v of a processor", time.Since(began)/scrapes, (c.processorTime()-processor)/scrapes) //nolint:forbidigo // a figure

	written, err := last.WriteRecord(make([]byte, uevents.IndexSize+4))
	require.NoError(t, err)
	require.True(t, written)
	began = time.Now()
	c.signal(syscall.SIGINT)
	c.until("the exporters are shut down", func() bool { return strings.Contains(c.said(), "Shutdown complete.") })
	t.Logf("all is delivered after %v", time.Since(began)) //nolint:forbidigo // a figure
	assert.Equal(t, 1, c.received().Logs)
	c.wait()
	t.Logf("the Collector has exited after %v", time.Since(began)) //nolint:forbidigo // a figure
	st, err := dir.Status()
	require.NoError(t, err)
	for _, e := range st.Events {
		assert.Empty(t, e.UsedBy, e.Name)
	}
}

// kernelMemory returns the bytes that the kernel takes for itself.
func kernelMemory(t *testing.T) (sum int) {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	for _, name := range []string{"SUnreclaim", "Percpu"} {
		_, rest, ok := strings.Cut(string(text), "\n"+name+":")
		require.True(t, ok, name)
		kib, err := strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(t, err)
		sum += kib << 10
	}
	return sum
}
