package collectortest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys/systest"
)

// processorTime returns the processor time that the Collector has taken, the kernel's work for it included.
func (c *collector) processorTime() time.Duration {
	t, err := systest.ProcessTime(c.cmd.Process.Pid)
	require.NoError(c.tb, err)
	return t
}

// memory returns the resident memory of the Collector, and the most that it ever was, in bytes.
func (c *collector) memory() (now, most float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	require.NoError(c.tb, err)
	value := func(key string) float64 {
		_, rest, ok := strings.Cut(string(text), "\n"+key+":")
		require.True(c.tb, ok, key)
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB\n")
		kib, err := strconv.ParseFloat(number, 64)
		require.NoError(c.tb, err)
		return kib * 1024
	}
	return value("VmRSS"), value("VmHWM")
}
