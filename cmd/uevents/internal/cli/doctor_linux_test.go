package cli

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestDoctorRemoval: doctor says so if a tool that is attached to its event keeps it on the machine.
func TestDoctorRemoval(t *testing.T) {
	dir := kerneltest.Require(t)
	for _, attached := range []bool{false, true} {
		x := &examination{dir: dir, listed: true}
		x.kernel()
		x.write()
		require.NotNil(t, x.event)
		name := x.event.Name()
		s, err := perf.Open(dir, nil)
		require.NoError(t, err)
		if attached {
			_, err = s.Attach(name, nil)
			require.NoError(t, err)
		}
		x.remove()
		if !attached {
			assert.Len(t, x.checks, 2)
			exists, err := dir.Event(name).Exists()
			require.NoError(t, err)
			assert.False(t, exists)
		} else if assert.Len(t, x.checks, 3) {
			assert.Equal(t, check{
				Name: checkRemoval, Status: statusWarn, Result: "the event " + name + " stays, since another tool is attached to it",
				Remedy: []string{"uevents events delete " + name + ", when that tool has ended"},
			}, x.checks[2])
		}
		require.NoError(t, s.Close())
		testscale.Eventually(t, func() bool { // before Linux 6.5 it stays
			_ = dir.Remove(name)
			exists, err := dir.Event(name).Exists()
			return err == nil && !exists
		}, "the event stays")
	}
}

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
	cpus, err := perf.CPUs()
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile(`(?m)^cpu\d+ `).FindAll(stat, -1), cpus)
}
