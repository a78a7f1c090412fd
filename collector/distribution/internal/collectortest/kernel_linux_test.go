package collectortest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var total = flag.Int("records", 20_000, "`number` of records that four programs write in TestEveryRecordIsCounted")

// everything collects what the writers write.
const everything = "  user_events: {events: [collected], exclude: ['*_span_start']}"

// TestEveryRecordIsCounted: four programs write as fast as they can, with four libraries, on different CPUs. Each record arrives at the end
// of the pipeline, or is counted as lost by the kernel or dropped by the receiver, exactly, by event.
func TestEveryRecordIsCounted(t *testing.T) {
	dir := kerneltest.RequireTool(t, "taskset")
	each := *total / 4
	writers := []*program{
		launchWriter(t, "slog", 0, each, 0), launchWriter(t, "otel", 1, each, 0), launchC(t, 2, each), launchWriter(t, "headers", 3, each, 0),
	}
	c := start(t, settings{
		receivers: everything, processors: []string{"memory_limiter"},
		sink: "    detailed: true\n    sending_queue: {storage: file_storage, block_on_overflow: true, sizer: items, queue_size: 100000, batch: {flush_timeout: 200ms}}",
	})
	c.attached(dir)
	for _, w := range writers {
		w.start()
	}
	written := map[string]int{"collected_c_reading": each + 3, "collected_c_text": 9}
	for _, w := range writers {
		maps.Copy(written, w.end())
	}
	sum, arrived := c.account(written)
	assert.Greater(t, sum, each*4)
	assert.GreaterOrEqual(t, len(written), 4+7)
	c.end()
	assert.Equal(t, arrived, c.received().Logs+c.received().Spans, "nothing arrives at the end that was not counted before")
}

// account waits until all records that programs wrote are counted, and checks that each arrived or was lost or dropped, exactly, by event. It
// returns their number, and that of those that arrived.
func (c *collector) account(written map[string]int) (sum, arrived int) {
	t := c.tb
	maps.DeleteFunc(written, func(_ string, n int) bool { return n == 0 })
	for _, n := range written {
		sum += n
	}
	var lost, dropped int
	c.until("all records are counted", func() bool {
		own := c.scrape()
		lost, dropped = own.lost(""), own.dropped("")
		arrived = c.received().Logs + c.received().Spans
		return arrived+lost+dropped >= sum
	})
	own := c.scrape()
	r := c.received()
	for name, n := range written {
		assert.Equal(t, n, r.Events[name]+own.lost(name)+own.dropped(name), "%s: written = arrived %d + lost %d + dropped %d", name, r.Events[name], own.lost(name), own.dropped(name))
	}
	assert.Equal(t, sum, arrived+lost+dropped)
	assert.Subset(t, slices.Collect(maps.Keys(written)), slices.Collect(maps.Keys(r.Events)))
	assert.Equal(t, arrived, own.accepted(), "what the receiver has handed over has arrived")
	t.Logf("%d written = %d arrived + %d lost + %d dropped", sum, arrived, lost, dropped)
	return sum, arrived
}

// short skips a test of what does not depend on the kernel.
func short(t *testing.T) {
	if testing.Short() {
		t.Skip("not on this kernel: the receiver does the same on all")
	}
}

// TestStall: while the pipeline takes nothing, the receiver keeps what its queue has room for, and the kernel loses the others. Each record
// is counted, by event, and memory stays within the bound of the receiver's README.
func TestStall(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "taskset")
	const budgetMiB, batchMiB, spansMiB = 32, 4, 16
	const rate = 5000 // records of a program in a second: the rings are emptied in time, and only a full queue makes the kernel lose many
	c := start(t, settings{
		receivers: fmt.Sprintf("  user_events: {events: [collected], exclude: ['*_span_start'], discovery: {release_on_exit: false}, "+
			"budget_mib: %d, batch: {max_records: 500, max_size_kib: %d}, spans: {max_size_mib: %d}}", budgetMiB, batchMiB<<10, spansMiB),
		processors: []string{"memory_limiter"}, sink: "    detailed: true",
	})
	require.NoError(t, os.WriteFile(c.stall, nil, 0o600))
	before, _ := c.memory()
	written, sum := map[string]int{}, 0
	write := func() {
		writers := []*program{launchWriter(t, "slog", 0, *total/4, rate), launchWriter(t, "otel", 1, *total/4, rate)}
		c.attached(dir)
		for _, w := range writers {
			w.start()
		}
		for _, w := range writers {
			for name, n := range w.end() {
				written[name] += n
				sum += n
			}
		}
	}
	c.until("the queue is full", func() bool {
		write()
		own := c.scrape()
		return own.sum("otelcol_receiver_user_events_queue_size") == own.sum("otelcol_receiver_user_events_queue_capacity")
	})
	full := c.scrape().lost("")
	c.until("the rings are full", func() bool {
		write()
		return c.scrape().lost("") > full
	})
	assert.Zero(t, c.received().Logs+c.received().Spans)
	require.NoError(t, os.Remove(c.stall))
	c.until("all records are counted", func() bool {
		own := c.scrape()
		return c.received().Logs+c.received().Spans+own.lost("")+own.dropped("") >= sum
	})
	own, r := c.scrape(), c.received()
	for name, n := range written {
		assert.Equal(t, n, r.Events[name]+own.lost(name)+own.dropped(name), "%s: written = arrived %d + lost %d + dropped %d", name, r.Events[name], own.lost(name), own.dropped(name))
	}
	_, most := c.memory()
	const drained = 10 << 20 // records that are taken out of the rings at a time
	bound := float64(budgetMiB<<20/4 + drained + 3*batchMiB<<20 + spansMiB<<20)
	assert.LessOrEqual(t, most-before, bound)
	t.Logf("%d written, %d lost, %d dropped; %.1f MiB of memory more than before, at most %.1f", sum, own.lost(""), own.dropped(""), (most-before)/(1<<20), bound/(1<<20))
	c.end()
}

// Names of the receiver's metrics.
const (
	lostRecords    = "otelcol_receiver_user_events_lost_records"
	droppedRecords = "otelcol_receiver_user_events_dropped_records"
	attachedEvents = "otelcol_receiver_user_events_attached_events"
	available      = "otelcol_receiver_user_events_available"
)

func event(name string) []string {
	if name == "" {
		return nil
	}
	return []string{fmt.Sprintf(`event="user_events:%s"`, name)}
}

// lost returns the number of records of an event that the kernel has lost; "": of all events.
func (s samples) lost(name string) int { return s.sum(lostRecords, event(name)...) }

// dropped returns the number of records of an event that the receiver has dropped; "": of all events.
func (s samples) dropped(name string) int { return s.sum(droppedRecords, event(name)...) }

// accepted returns the number of log records and spans that the pipelines have accepted from the receiver.
func (s samples) accepted() int {
	const receiver = `receiver="user_events"`
	return s.sum("otelcol_receiver_accepted_log_records", receiver) + s.sum("otelcol_receiver_accepted_spans", receiver)
}

// containerID is one that a runtime might assign.
var containerID = strings.Repeat("0123456789abcdef", 4)

// confined is a shell script that runs its arguments as daemonset.yaml says: without the right to get more rights, with files of tracefs and
// cgroups that cannot be changed, with the capabilities of $CAPABILITIES and little locked memory.
const confined = `
set -e
for dir in /sys/kernel/tracing /sys/fs/cgroup; do
	mount --bind $dir $dir
	mount -o remount,bind,ro $dir
done
if mkdir /sys/kernel/tracing/instances/writable 2>/dev/null; then
	echo "tracefs can be changed" >&2
	exit 1
fi
ulimit -l 64
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all$CAPABILITIES "$@"`

// TestStrictSysctl: where kernel.perf_event_paranoid is above 2, the kernels of Debian and Ubuntu refuse the rights of daemonset.yaml, and
// the Collector says what its comment does: SYS_ADMIN in place of PERFMON, or that sysctl.
func TestStrictSysctl(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "setpriv")
	kerneltest.RequireTool(t, "unshare")
	const sysctl = "/proc/sys/kernel/perf_event_paranoid"
	before, err := os.ReadFile(sysctl)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(sysctl, []byte("4"), 0))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(sysctl, before, 0)) })
	var others string
	for _, capability := range daemonSet(t).Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add {
		if capability != "PERFMON" {
			others += ",+" + strings.ToLower(string(capability))
		}
	}
	launchWriter(t, "slog", 0, 1, 0)
	for _, capability := range []string{"perfmon", "sys_admin"} {
		t.Setenv("CAPABILITIES", others+",+"+capability)
		c := start(t, settings{receivers: everything, command: []string{"unshare", "--mount", "sh", "-c", confined, "sh"}})
		if capability == "sys_admin" {
			c.attached(dir)
		} else {
			c.until("the Collector says what is missing", func() bool {
				return strings.Contains(c.said(), "CAP_PERFMON is not enough: kernel.perf_event_paranoid is 4, and above 2 this kernel asks for CAP_SYS_ADMIN")
			})
			assert.Zero(t, c.descriptors())
		}
		c.end()
	}
}

// TestRights: the rights of daemonset.yaml are enough, and each capability is needed.
func TestRights(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "setpriv")
	kerneltest.RequireTool(t, "unshare")
	container := daemonSet(t).Spec.Template.Spec.Containers[0].SecurityContext
	require.Equal(t, []core.Capability{"ALL"}, container.Capabilities.Drop)
	require.Zero(t, *container.RunAsUser)
	require.False(t, *container.AllowPrivilegeEscalation)

	cgroup := filepath.Join("/sys/fs/cgroup", "cri-containerd-"+containerID+".scope")
	require.NoError(t, os.Mkdir(cgroup, 0o755))
	t.Cleanup(func() { _ = os.Remove(cgroup) }) // a guest ends anyway
	for _, without := range append([]core.Capability{""}, container.Capabilities.Add...) {
		t.Run("without_"+cmp.Or(string(without), "nothing"), func(t *testing.T) {
			var capabilities string
			for _, capability := range container.Capabilities.Add {
				if capability != without {
					capabilities += ",+" + strings.ToLower(string(capability))
				}
			}
			const records = 100
			w := launchWriter(t, "slog", 0, records, 0, "sh", "-c", `echo $$ >`+cgroup+`/cgroup.procs; exec "$0" "$@"`)
			t.Setenv("CAPABILITIES", capabilities)
			c := start(t, settings{
				receivers: everything, sink: "    detailed: true",
				command: []string{"unshare", "--mount", "sh", "-c", confined, "sh"},
			})
			if without == "PERFMON" {
				c.until("the Collector says what is missing", func() bool { return strings.Contains(c.said(), "CAP_PERFMON") })
				assert.Zero(t, c.descriptors())
				c.end()
				return
			}
			c.attached(dir)
			// Errors have rings of their own, where there is the memory for them.
			size, rings := 1024, 2*runtime.NumCPU()
			if without == "IPC_LOCK" {
				size, rings = 512, runtime.NumCPU()
			}
			assert.Equal(t, slices.Repeat([]int{size + os.Getpagesize()>>10}, rings), c.rings(), "KiB")
			w.start()
			w.end()
			c.until("all records have arrived", func() bool { return c.received().Logs == records })
			assert.Equal(t, map[string]int{containerID: records}, c.received().Containers)
			c.end()
		})
	}
}

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
