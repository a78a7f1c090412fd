package cli

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOnlineCPUs: there is a ring for each CPU, also if uevents itself may only run on one.
func TestOnlineCPUs(t *testing.T) {
	if os.Getenv("USER_EVENTS_TEST_ONE_CPU") == "" {
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		allowed := regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*(\d+)`).FindSubmatch(status)
		require.Len(t, allowed, 2)
		child := exec.Command("taskset", "-c", string(allowed[1]), os.Args[0], "-test.run=^TestOnlineCPUs$")
		child.Env = append(os.Environ(), "USER_EVENTS_TEST_ONE_CPU=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	require.Equal(t, 1, runtime.NumCPU())
	stat, err := os.ReadFile("/proc/stat")
	require.NoError(t, err)
	cpus, err := onlineCPUs()
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile(`(?m)^cpu\d+ `).FindAll(stat, -1), cpus)
}
