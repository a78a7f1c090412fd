// Package guest is what the runner's own tests run in guests: one test for the
// way things should be, the others for each way a guest can go wrong.
package guest

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestMain keeps tests that crash their machine away from any but a guest.
func TestMain(m *testing.M) {
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil || !strings.Contains(string(cmdline), "oops=panic") {
		panic("these tests are for guests of .ci/vm only")
	}
	os.Exit(m.Run())
}

func TestMachine(t *testing.T) {
	kerneltest.Require(t)
	assert.Zero(t, os.Getuid())
	assert.NotEmpty(t, testscale.Kernel())

	_, err := os.Stat("guest_test.go")
	require.NoError(t, err, "the working directory is the package's")
	require.NoError(t, os.WriteFile("new", []byte("x"), 0o600))
	require.NoError(t, os.Remove("new"))
	require.NoError(t, os.Remove("guest_test.go"), "even files of the host can go, in here")

	home, err := os.ReadDir(os.Getenv("HOME"))
	require.NoError(t, err)
	assert.Empty(t, home)

	_, err = os.Stat("/sys/kernel/tracing/user_events_data")
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestHostTools(t *testing.T) {
	data := filepath.Join(t.TempDir(), "perf.data")
	out, err := exec.Command("perf", "record", "-B", "-N", "-q", "-o", data, "-e", "syscalls:sys_enter_exit_group", "true").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("perf", "script", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "sys_enter_exit_group")

	out, err = exec.Command("trace-cmd", "list", "-e").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "syscalls:sys_enter_write")
}

func TestAllowedSkip(t *testing.T) {
	t.Skip("not on this kernel: it is too good")
}

func TestSkip(t *testing.T) {
	t.Skip("no reason that counts")
}

func TestFail(t *testing.T) {
	t.Fatal("as it should")
}

func TestExit(*testing.T) {
	os.Exit(0)
}

// TestSleep hangs as a deadlock does: SIGQUIT ends it.
func TestSleep(*testing.T) {
	time.Sleep(time.Hour) //nolint:forbidigo // the hang itself
}

// TestDeaf hangs and does not even hear SIGQUIT.
func TestDeaf(*testing.T) {
	signal.Ignore(syscall.SIGQUIT)
	time.Sleep(time.Hour) //nolint:forbidigo // the hang itself
}

// TestMute freezes the process that reports to the host. The host sees what it would see of a
// kernel that hangs.
func TestMute(t *testing.T) {
	const group = "/sys/fs/cgroup/frozen"
	require.NoError(t, os.Mkdir(group, 0o755))
	require.NoError(t, os.WriteFile(group+"/cgroup.procs", []byte("1"), 0))
	require.NoError(t, os.WriteFile(group+"/cgroup.freeze", []byte("1"), 0))
	time.Sleep(time.Hour) //nolint:forbidigo // the hang itself
}

func TestQuiet(*testing.T) {}

// TestLeaveBehind leaves a process, an event and a trace instance behind.
func TestLeaveBehind(t *testing.T) {
	kerneltest.Require(t)
	const tracing = "/sys/kernel/tracing"
	require.NoError(t, exec.Command("sleep", "1h").Start())
	require.NoError(t, os.WriteFile(tracing+"/dynamic_events", []byte("u:left_behind u8 a"), 0))
	require.NoError(t, os.Mkdir(tracing+"/instances/left_behind", 0o755))
}

// TestChange changes the machine in each way that a host must not be changed.
func TestChange(t *testing.T) {
	const tracing = "/sys/kernel/tracing"
	require.NoError(t, os.WriteFile(tracing+"/dynamic_events", []byte("u:left_behind u8 a"), 0))
	require.NoError(t, os.Chmod(tracing, 0o750))
	require.NoError(t, os.Chown(tracing+"/README", -1, 65534))
	require.NoError(t, os.Mkdir(tracing+"/instances/left_behind", 0o755))
	require.NoError(t, os.WriteFile("/proc/sys/kernel/panic", []byte("-2"), 0))
}

func TestPanic(t *testing.T) {
	require.NoError(t, os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0))
	time.Sleep(time.Hour) //nolint:forbidigo // the hang itself
}

func TestComplaint(t *testing.T) {
	require.NoError(t, os.WriteFile("/dev/kmsg", []byte("WARNING: from a test\n"), 0))
}

// TestLockdown is for a guest that boots with lsm=lockdown lockdown=confidentiality.
func TestLockdown(t *testing.T) {
	kerneltest.Guest(t)
	state, err := os.ReadFile("/sys/kernel/security/lockdown")
	require.NoError(t, err)
	assert.Contains(t, string(state), "[confidentiality]")
}

func BenchmarkGetppid(b *testing.B) {
	for b.Loop() {
		syscall.Getppid()
	}
}

// BenchmarkRandom reports what is random elsewhere: numbers, the order of a map, the time.
func BenchmarkRandom(b *testing.B) {
	order, places := 0, map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}
	for b.Loop() {
		for place := range places {
			order = (order*8 + place) & 0xffffff
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(rand.Uint32()), "number")
	b.ReportMetric(float64(order), "order")
	b.ReportMetric(float64(time.Now().Unix()), "s")
}
