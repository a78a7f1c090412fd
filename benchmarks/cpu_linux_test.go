package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
)

// cpuTime returns the processor time that a process has taken, the kernel's work for it included. 0 is this process.
func cpuTime(pid int) (time.Duration, error) { return systest.ProcessTime(pid) }

// TestCPUTime: the processor time of this process and of another one grows with their work and not with their waiting.
func TestCPUTime(t *testing.T) {
	c := startCollector(t)
	for _, pid := range []int{0, c.pid} {
		now := func() time.Duration {
			v, err := cpuTime(pid)
			require.NoError(t, err)
			return v
		}
		testscale.Eventually(t, func() bool { // what its start leaves behind may take processor time
			begin, before := time.Now(), now()
			time.Sleep(50 * time.Millisecond)         //nolint:forbidigo // the wait that takes no processor time
			return now()-before < time.Since(begin)/2 //nolint:forbidigo // a slow machine makes it longer
		}, "waiting takes processor time")
		before := now()
		for range 100 {
			c.ask(t)
		}
		assert.Greater(t, now(), before)
	}
	_, err := cpuTime(1<<22 + 1) // no process has that number
	assert.ErrorContains(t, err, "process 4194305")
}
