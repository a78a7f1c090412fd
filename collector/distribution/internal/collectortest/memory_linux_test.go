//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/collector/distribution/internal/collectortest/sink"
	"github.com/userevents/userevents-go/internal/memory/attachtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// memoryName is the first part of the names of events in shared memory: other tests of the machine may run at the same time.
var memoryName = fmt.Sprint("memory", os.Getpid())

// inMemory collects what the writers of this process write.
var inMemory = fmt.Sprintf("  user_events: {events: [%s], exclude: ['*_span_start'], transport: memory, discovery: {poll_interval: 10ms}, spans: {max_wait: 1m}}", memoryName)

// memoryEnv is the environment of a writer whose events are in shared memory.
var memoryEnv = []string{uevents.EnvTransport + "=memory", envProgram + "=" + memoryName, "GOMAXPROCS=2"} // its rings are as large on all machines

// launchNative starts a writer whose events are in shared memory.
func launchNative(tb testing.TB, name string, records int) *program {
	return launchAnyhow(tb, name, records, 0, nil, memoryEnv...)
}

// collected selects the events that inMemory does not exclude.
func collected(event string) bool { return !strings.HasSuffix(event, "_span_start") }

// attachedTo waits until the Collector has enabled the events of programs that it collects, and no others. The event that is excluded
// is enabled for a moment, when the program registers it.
func (c *collector) attachedTo(programs ...*program) {
	c.tb.Helper()
	for _, p := range programs {
		c.until("it has attached to a program", func() bool {
			return attachtest.Attached(c.cmd.Process.Pid, p.cmd.Process.Pid, collected)
		})
	}
}

// TestMemoryEveryRecordIsCounted: three programs write log records, spans and EventHeader records to shared memory as fast as they can. Each
// record arrives at the end of the pipeline with the identity of its program, or is counted as lost or dropped, exactly, by event.
func TestMemoryEveryRecordIsCounted(t *testing.T) {
	testscale.HostOnly(t)
	const each = 2000
	c := start(t, settings{
		receivers: inMemory, processors: []string{"memory_limiter"},
		sink: "    detailed: true\n    sending_queue: {storage: file_storage, block_on_overflow: true, sizer: items, queue_size: 100000, batch: {flush_timeout: 200ms}}",
	})
	programs := []*program{launchNative(t, "slog", each), launchNative(t, "otel", each), launchNative(t, "headers", each)}
	c.attachedTo(programs...)
	written, processes := map[string]int{}, map[string]int{}
	for _, p := range programs {
		p.start()
	}
	for _, p := range programs {
		for event, n := range p.end() {
			if collected(event) { // else another tool may have enabled it
				written[event] = n
			}
		}
		processes[strconv.Itoa(p.cmd.Process.Pid)] = each
	}
	sum, arrived := c.account(written)
	assert.Equal(t, len(programs)*each, sum)
	assert.GreaterOrEqual(t, len(written), 3+7)
	r := c.received()
	assert.Equal(t, map[string]int{"collectortest.test": arrived}, r.Programs)
	if sum == arrived {
		assert.Equal(t, processes, r.Processes)
	}
	c.end()
	assert.Equal(t, arrived, c.received().Logs+c.received().Spans, "nothing arrives at the end that was not counted before")
}

// TestMemorySpans: spans with an event and a link each, whose records take turns on threads of several CPUs, arrive whole.
func TestMemorySpans(t *testing.T) {
	testscale.HostOnly(t)
	const n = 200
	c := start(t, settings{receivers: inMemory, sink: "    detailed: true"})
	p := launchNative(t, "spans", n)
	c.attachedTo(p)
	p.start()
	for event, written := range p.end() {
		assert.Equal(t, n, written, event)
	}
	c.until("all spans have arrived", func() bool { return c.received().Spans >= n })
	assert.Equal(t, map[string]int{sink.Parts(1, 1): n}, c.received().Whole)
	c.end()
	assert.Equal(t, []int{0, n}, []int{c.received().Logs, c.received().Spans})
}

// TestMemoryFailedRequests: with the example for failed requests, one pipeline gets the records of level info and above, and another one all
// records of failed requests, also while the exporter of the first one takes nothing.
func TestMemoryFailedRequests(t *testing.T) {
	testscale.HostOnly(t)
	const requests = 200 // fewer than the rings have room for
	dir := t.TempDir()
	configs := append(examples(t, dir, "config.yaml", "config-failed-requests.yaml"), filepath.Join(dir, "soon.yaml"))
	require.NoError(t, os.WriteFile(configs[2], []byte(`exporters:
  sink: {sending_queue: {batch: {flush_timeout: 100ms}}}
  sink/failed: {sending_queue: {batch: {flush_timeout: 100ms}}}
`), 0o600))
	memory := fmt.Sprintf("{events: [%s], transport: memory, discovery: {poll_interval: 10ms}}", memoryName)
	c := start(t, settings{
		configs: configs, receivers: "  user_events: " + memory + "\n  user_events/failed: " + memory, pipelines: onlyLogs, sink: "    detailed: true",
	})
	require.NoError(t, os.WriteFile(c.stall, nil, 0o600))
	p := launchNative(t, "requests", requests)
	c.until("both receivers have attached", func() bool {
		info := func(event string) bool { return !strings.HasSuffix(event, "_debug") }
		return attachtest.Attached(c.cmd.Process.Pid, p.cmd.Process.Pid, info, attachtest.All)
	})
	p.start()
	p.end()
	name := memoryName + "_requests_"
	want := map[string]int{name + "debug": 2 * requests / failing, name + "info": requests / failing, name + "error": requests / failing}
	failed := filepath.Join(dir, "sink-failed.json")
	c.until("the records of failed requests have arrived", func() bool { return c.reportIn(failed).Logs >= 4*requests/failing })
	assert.Zero(t, c.received().Logs, "the other exporter takes nothing")
	require.NoError(t, os.Remove(c.stall))
	c.until("the records of level info have arrived", func() bool { return c.received().Logs >= requests+requests/failing })
	own := c.scrape()
	c.end()
	assert.Equal(t, want, c.reportIn(failed).Events)
	assert.Equal(t, map[string]int{name + "info": requests, name + "error": requests / failing}, c.received().Events)
	for _, receiver := range []string{"user_events", "user_events/failed"} {
		assert.Zero(t, own.sum("otelcol_receiver_user_events_lost_records", `receiver="`+receiver+`"`), receiver)
	}
	assert.Equal(t, 3*requests+requests/failing, own.sum("otelcol_receiver_user_events_read_records", `receiver="user_events/failed"`))
}

// TestMemoryStall: while the pipeline takes nothing, the receiver's queue and the rings of programs with the same events fill, and the
// programs go on and end. Each record arrives in the end or is counted as lost, exactly, by event.
func TestMemoryStall(t *testing.T) {
	testscale.HostOnly(t)
	const records = 20_000
	c := start(t, settings{
		receivers: strings.Replace(inMemory, "{", "{budget_mib: 8, batch: {max_records: 500}, ", 1),
		sink:      "    detailed: true",
	})
	require.NoError(t, os.WriteFile(c.stall, nil, 0o600))
	name := memoryName + "_slog_info"
	sum, last := 0, 0
	c.until("the queue is full", func() bool {
		programs := []*program{launchNative(t, "slog", records), launchNative(t, "slog", 2*records)}
		c.attachedTo(programs...)
		for _, p := range programs {
			p.start()
			n := p.end()[name]
			assert.Contains(t, []int{records, 2 * records}, n)
			sum += n
			c.until("its lost records are counted", func() bool { return c.scrape().lost(name) > last })
			last = c.scrape().lost(name)
		}
		own := c.scrape()
		return own.sum("otelcol_receiver_user_events_queue_size") == own.sum("otelcol_receiver_user_events_queue_capacity")
	})
	assert.Zero(t, c.received().Logs)
	require.NoError(t, os.Remove(c.stall))
	_, arrived := c.account(map[string]int{name: sum})
	assert.Positive(t, arrived)
	c.until("no event is attached", func() bool { return c.scrape().sum(attachedEvents) == 0 })
	c.end()
}

// TestMemoryContexts: a program cannot claim with its process context to be another one, and one whose context changes all the time keeps the
// records of others from nothing.
func TestMemoryContexts(t *testing.T) {
	testscale.HostOnly(t)
	const records = 500
	c := start(t, settings{receivers: inMemory, sink: "    detailed: true"})
	launched := map[string]*program{}
	for _, name := range []string{"", "context", "forged context", "endless context"} {
		launched[name] = launchAnyhow(t, "slog", records, 0, nil, append(memoryEnv, envSurroundings+"="+name)...)
		c.attachedTo(launched[name])
	}
	for _, p := range launched {
		p.start()
		assert.Equal(t, records, p.end()[memoryName+"_slog_info"])
	}
	c.until("all records have arrived", func() bool { return c.received().Logs == len(launched)*records })
	var pids []int
	for _, p := range launched {
		pids = append(pids, p.cmd.Process.Pid)
	}
	all := c.resources(pids...)
	require.Len(t, all, len(launched))
	for name, p := range launched {
		r := all[p.cmd.Process.Pid]
		require.NotNil(t, r, name)
		assert.Equal(t, "collectortest.test", r["process.executable.name"], name)
		assert.NotEqual(t, "bank", r["process.linux.cgroup"], name)
		assert.NotEqual(t, "bank", r["host.name"], name)
		switch name {
		case "context":
			assert.Equal(t, []any{"shop-go", "red"}, []any{r["service.name"], r["team"]})
		case "forged context":
			assert.Equal(t, "red", r["team"])
			assert.Contains(t, r, "not UTF-8 \uFFFD")
		case "":
			assert.NotContains(t, r, "team")
		}
	}
	c.end()
}

// BenchmarkMemory is BenchmarkThroughput with a program whose events are in shared memory, on this machine.
func BenchmarkMemory(b *testing.B) {
	testscale.HostOnly(b)
	measure(b, "slog", readMemory)
}

func readMemory(b *testing.B) {
	w := launchNative(b, "slog", b.N)
	c := start(b, settings{receivers: inMemory, pipelines: onlyLogs})
	c.attachedTo(w)
	arrived := c.throughput(b, func() {
		w.start()
		require.Equal(b, b.N, w.end()[memoryName+"_slog_info"])
	})
	lost, dropped := c.losses()
	require.Equal(b, b.N, arrived+lost+dropped, "written = arrived + lost + dropped")
	b.ReportMetric(float64(lost), lostUnit)
	b.ReportMetric(float64(dropped), droppedUnit)
	c.end()
}
