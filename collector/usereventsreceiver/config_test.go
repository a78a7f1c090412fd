package usereventsreceiver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
)

// load returns a configuration of testdata/config.yaml.
func load(t *testing.T, name string) *Config {
	t.Helper()
	all, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := all.Sub(name)
	require.NoError(t, err)
	cfg := NewFactory().CreateDefaultConfig()
	require.NoError(t, sub.Unmarshal(cfg))
	return cfg.(*Config)
}

// allSignals returns outputs with a pipeline of each signal.
func allSignals() *outputs {
	o := new(outputs)
	o.logs.consume, o.traces.consume, o.metrics.consume = consumertest.NewNop().ConsumeLogs, consumertest.NewNop().ConsumeTraces, consumertest.NewNop().ConsumeMetrics
	return o
}

// TestKinds: signals without a pipeline are not attached.
func TestKinds(t *testing.T) {
	cfg, out := defaultConfig(), allSignals()
	assert.Nil(t, cfg.kinds(out))
	out.traces.consume = nil
	assert.Equal(t, []record.Kind{record.KindLog, record.KindOther, record.KindMetric}, cfg.kinds(out))
	cfg.Spans.Starts = true
	out.metrics.consume = nil
	assert.Equal(t, []record.Kind{record.KindLog, record.KindOther, record.KindSpanStart}, cfg.kinds(out))
	out = allSignals()
	out.logs.consume = nil
	assert.Equal(t, []record.Kind{record.KindSpan, record.KindSpanEvent, record.KindSpanLink, record.KindMetric}, cfg.kinds(out))
	cfg.Mapping = mappingRaw
	assert.Nil(t, cfg.kinds(out))
}

func TestConfigDefault(t *testing.T) {
	cfg := load(t, "user_events")
	assert.Equal(t, defaultConfig(), cfg)
	assert.NoError(t, confmap.Validate(cfg))
	o, err := cfg.readerOptions(allSignals(), nil)
	require.NoError(t, err)
	assert.Equal(t, &reader.Options{
		DetachAtExit: true, CgroupID: true, Partial: true, Poll: 250 * time.Millisecond, BufferSize: cfg.budget(processors()).ring, ProgramMemory: cfg.budget(processors()).programs, Latency: 100 * time.Millisecond, Window: 10 * time.Millisecond,
		Selection: reader.Selection{Events: []string{"*"}}, Transport: reader.TransportAny, Reuse: true,
	}, o)
}

func TestConfigAll(t *testing.T) {
	cfg := load(t, "user_events/all")
	a := cfg.Attributes
	for name, attribute := range map[string]metadata.ResourceAttributeConfig{
		"process.pid": a.ProcessPid, "process.executable.name": a.ProcessExecutableName, "process.linux.cgroup": a.ProcessLinuxCgroup,
		"container.id": a.ContainerID, "k8s.pod.uid": a.K8sPodUID, "host.name": a.HostName, "k8s.node.name": a.K8sNodeName,
	} {
		assert.False(t, attribute.Enabled, name)
	}
	cfg.Attributes = metadata.ResourceAttributesConfig{} // without what notes that they were set
	assert.Equal(t, &Config{
		Events: []string{"checkout", "billing_*"}, Exclude: []string{"*_span_start"}, Level: "warn2",
		Cgroup: "/sys/fs/cgroup/kubepods.slice", Where: "status >= 500", Transport: transportMemory, NodeName: "node1",
		Discovery:        DiscoveryConfig{PollInterval: time.Second, RetryInterval: 30 * time.Second, MaxEvents: 500, RulesFile: "/etc/rules.yaml"},
		BudgetMiB:        128,
		ProgramLimit:     ProgramLimitConfig{RecordsPerSecond: 1000, KiBPerSecond: 512},
		Ring:             RingConfig{Latency: 50 * time.Millisecond, ReorderWindow: 20 * time.Millisecond},
		RecordAttributes: RecordAttributesConfig{ThreadID: RecordAttributeConfig{Enabled: true}},
		Batch:            BatchConfig{MaxRecords: 1000, MaxSizeKiB: 1024, Timeout: time.Second},
		Spans:            SpansConfig{MaxPending: 1000, MaxSizeMiB: 4, MaxWait: 5 * time.Second, Starts: true},
		Tail:             TailConfig{By: "request_id", Window: 5 * time.Second, SizeMiB: 8},
		Mapping:          mappingRaw,
		RetryOnFailure: configretry.BackOffConfig{
			InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: 30 * time.Second, Multiplier: 2, RandomizationFactor: 0.1,
		},
	}, cfg)
	assert.NoError(t, confmap.Validate(cfg))
	o, err := cfg.readerOptions(allSignals(), nil)
	require.NoError(t, err)
	assert.Equal(t, "(kind in (log, other) and (level >= warn2 or not has(level))) and (status >= 500)", o.Where.String())
	o.Where = nil
	assert.Equal(t, &reader.Options{
		Selection: reader.Selection{Events: cfg.Events, Excludes: cfg.Exclude}, Cgroup: cfg.Cgroup, MaxEvents: 500, Transport: reader.TransportMemory,
		ProgramLimit: reader.ProgramLimit{Records: 1000, Bytes: 512 << 10},
		CgroupID:     true, Partial: true, Poll: time.Second, BufferSize: cfg.budget(processors()).ring, ProgramMemory: cfg.budget(processors()).programs, Latency: 50 * time.Millisecond, Window: 20 * time.Millisecond, Reuse: true,
	}, o)
}

// TestConfigInvalid: one validation reports every error, each with its key.
func TestConfigInvalid(t *testing.T) {
	err := confmap.Validate(load(t, "user_events/invalid"))
	require.Error(t, err)
	for _, want := range []string{
		`events: pattern "a/b"`, `events: pattern "["`, `exclude: pattern ""`, `level: level "loud"`, `cgroup: "kubepods.slice"`, `where: the name of a value expected`,
		`transport: "shared"`,
		"discovery: poll_interval: 0s", "retry_interval: 2h0m0s", "max_events: -1", `rules_file: "rules.yaml"`,
		"program_limit: records_per_second: -1", "kib_per_second: 4194304",
		"budget_mib: 0 is not from 1 to 65536", "ring: latency: 1ns", "reorder_window: 2s",
		"batch: max_records: 0", "max_size_kib: -1", "timeout: 0s",
		"spans: max_pending: 0", "max_size_mib: 0", "max_wait: 2m0s", `mapping: "flat"`,
		"tail: when: ", "by: it is empty", "window: 0s", "size_mib: 0",
		"retry_on_failure: initial_interval: 0s", "max_interval: 2m0s", "max_elapsed_time: 1m1s is not from 1ms to 1m0s", "multiplier: 0.5 is not from 1 to 1000", "randomization_factor",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), `"a*"`)
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	assert.Equal(t, slices.Compact(slices.Clone(lines)), lines, "an error is there twice")
	cfg := defaultConfig()
	cfg.Events, cfg.Exclude, cfg.Transport = []string{"user_events:a", "sched:b"}, []string{"sched:c"}, transportMemory
	assert.EqualError(t, confmap.Validate(cfg), `events: "sched:b" is an event of the kernel, which transport: memory does not read`)
}

// TestConfigBudget: a budget is in its range.
func TestConfigBudget(t *testing.T) {
	for text, want := range map[string]string{
		"budget_mib: 1":      "",
		"budget_mib: 65536":  "",
		"budget_mib: 0":      "budget_mib: 0 is not from 1 to 65536",
		"budget_mib: 65537":  "budget_mib: 65537 is not from 1 to 65536",
		"budget_mib: 200000": "budget_mib: 200000 is not from 1 to 65536",
	} {
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		cfg := defaultConfig()
		if err = conf.Unmarshal(cfg); err == nil {
			err = confmap.Validate(cfg)
		}
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

// TestConfigWhere: a level means what it means for the command.
func TestConfigWhere(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Level: "warn"}, "kind in (log, other) and (level >= warn or not has(level))"},
		{Config{Where: "status >= 500"}, "status >= 500"},
		{Config{Level: "Error3", Where: "kind == log"}, "(kind in (log, other) and (level >= error3 or not has(level))) and (kind == log)"},
	} {
		where, err := c.cfg.where()
		require.NoError(t, err)
		assert.Equal(t, c.want, where.String())
	}
	where, err := new(Config).where()
	require.NoError(t, err)
	assert.Nil(t, where)
}

// drained is the memory of records that are taken out of rings of the kernel at a time, as README.md has it.
func drained(processors int) int { return max(10<<20, ringSets*processors*20<<10) }

// TestBudget: the parts of a budget are within it for any number of processors, and none is nothing.
func TestBudget(t *testing.T) {
	for _, mib := range []int{1, 64, 512, 4096} {
		for processors := 1; processors <= 1024; processors++ {
			b := (&Config{BudgetMiB: mib}).budget(processors)
			if rings := ringSets * processors * b.ring; b.ring > leastRing {
				assert.LessOrEqual(t, rings, mib<<20/8, "%d MiB, %d processors", mib, processors)
				if b.ring < mostRing {
					assert.Greater(t, 2*rings, mib<<20/8, "%d MiB, %d processors: it is not used", mib, processors)
				}
			}
			assert.LessOrEqual(t, b.queue+programCopies*b.programs, mib<<20/8*7)
			assert.Positive(t, b.programs)
		}
	}
}

// shipped returns a value of a file of the distribution.
func shipped[T any](t *testing.T, c *confmap.Conf, path string) T {
	t.Helper()
	v, ok := c.Get(path).(T)
	require.True(t, ok, path)
	return v
}

// mib returns a number of MiB from a text such as 896Mi.
func mib(t *testing.T, text, unit string) int {
	t.Helper()
	number, ok := strings.CutSuffix(text, unit)
	require.True(t, ok, text)
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	return n
}

// TestShippedLimits: for 2 to 256 processors, memory_limiter refuses nothing for what the receivers and exporters hold, and the pod has room for
// that and for the rings. docs/collector.md has the formula.
func TestShippedLimits(t *testing.T) {
	for name, files := range map[string][]string{"example": {"config.yaml"}, "failed requests": {"config.yaml", "config-failed-requests.yaml"}} {
		t.Run(name, func(t *testing.T) { testShippedLimits(t, files) })
	}
}

func testShippedLimits(t *testing.T, files []string) {
	const own = 64 << 20 // what a Collector takes without records, about twice
	testscale.UsesCheckout()
	dir := filepath.Join("..", "distribution")
	conf := confmap.New()
	for _, name := range files {
		c, err := confmaptest.LoadConf(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, conf.Merge(c))
	}
	limit := shipped[int](t, conf, "processors::memory_limiter::limit_mib")
	refusesAt := (limit - shipped[int](t, conf, "processors::memory_limiter::spike_limit_mib")) << 20
	exporters := 0
	for _, pipeline := range shipped[map[string]any](t, conf, "service::pipelines") { // each exporter has a queue for each of its pipelines
		for _, e := range pipeline.(map[string]any)["exporters"].([]any) {
			queue := "exporters::" + e.(string) + "::sending_queue::"
			// A request is in memory as data and encoded, and the next one is made meanwhile.
			exporters += 3 * shipped[int](t, conf, queue+"num_consumers") * shipped[int](t, conf, queue+"batch::max_size")
		}
	}

	daemonSet, err := confmaptest.LoadConf(filepath.Join(dir, "daemonset.yaml"))
	require.NoError(t, err)
	container := confmap.NewFromStringMap(shipped[[]any](t, daemonSet, "spec::template::spec::containers")[0].(map[string]any))
	pod := mib(t, shipped[string](t, container, "resources::limits::memory"), "Mi") << 20
	for _, e := range shipped[[]any](t, container, "env") {
		if v := e.(map[string]any); v["name"] == "GOMEMLIMIT" {
			assert.Equal(t, limit, mib(t, fmt.Sprint(v["value"]), "MiB"), "the garbage collection begins in time")
		}
	}
	for processors := 2; processors <= 256; processors++ {
		heap, rings := own+exporters, 0
		for id := range shipped[map[string]any](t, conf, "receivers") {
			cfg := defaultConfig()
			sub, err := conf.Sub("receivers::" + id)
			require.NoError(t, err)
			require.NoError(t, sub.Unmarshal(cfg))
			b := cfg.budget(processors)
			heap += b.queue + (programCopies-1)*b.programs + drained(processors) + 2*3*cfg.Batch.MaxSizeKiB<<10 + cfg.Spans.MaxSizeMiB<<20
			if cfg.Tail.When != "" {
				heap += cfg.Tail.SizeMiB << 20
			}
			rings += ringSets*processors*b.ring + b.programs
		}
		assert.LessOrEqual(t, heap, refusesAt, "%d processors", processors)
		assert.LessOrEqual(t, limit<<20+rings, pod, "%d processors", processors)
	}
}

// TestReadme: the table of keys has those of the configuration's schema, with the defaults.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	text, err = os.ReadFile("config.schema.json")
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	defaults := confmap.New()
	require.NoError(t, defaults.Marshal(defaultConfig()))
	for _, key := range keys(t, schema, nil) {
		name := strings.Join(key, ".")
		row, ok := rows[name]
		delete(rows, name)
		if !assert.True(t, ok, "README.md has no key %s", name) {
			continue
		}
		switch want := valueOf(defaults.ToStringMap(), key); want {
		case nil, "":
			assert.Regexp(t, `^(none|all( user events| processes)?)$`, row, name)
		default:
			assert.Equal(t, strings.TrimSuffix(fmt.Sprint(want), "m0s"), strings.TrimSuffix(row, "m"), name)
		}
	}
	assert.Empty(t, rows, "README.md has keys that the configuration does not have")
}

// keys returns the paths of the keys that have no keys of their own.
func keys(t *testing.T, schema map[string]any, path []string) (list [][]string) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	require.NotEmpty(t, properties, "%s", path)
	for name, p := range properties {
		property, at := p.(map[string]any), append(slices.Clip(path), name)
		if property["type"] == "object" {
			list = append(list, keys(t, property, at)...)
		} else {
			list = append(list, at)
		}
	}
	return list
}

// valueOf returns the value at a path, or nil if there is none.
func valueOf(values any, path []string) any {
	for _, name := range path {
		m, ok := values.(map[string]any)
		if !ok {
			return nil
		}
		values = m[name]
	}
	if list, ok := values.([]any); ok && len(list) == 0 {
		return nil
	}
	return values
}

// TestConverterOptions: the configuration says which resource attributes there are, and the name of the node.
func TestConverterOptions(t *testing.T) {
	root := sys.InitialNamespace("cgroup")
	assert.Equal(t, &otlp.Options{
		RootCgroup: root, Raw: true, OmitPID: true, OmitExecutableName: true, OmitCgroup: true, OmitContainerID: true, OmitPodUID: true, OmitName: true,
		MaxSpans: 1000, MaxBytes: 4 << 20, MaxWait: 5 * time.Second,
	}, load(t, "user_events/all").converterOptions())
	cfg := defaultConfig()
	assert.Equal(t, &otlp.Options{
		RootCgroup: root, DropSpanStarts: true, OmitThread: true, HostName: machineName(), MaxSpans: 10_000, MaxBytes: 16 << 20, MaxWait: 2 * time.Second,
	}, cfg.converterOptions())
	cfg.NodeName = "node1"
	assert.Equal(t, "node1", cfg.converterOptions().HostName)
	assert.Equal(t, "node1", cfg.converterOptions().NodeName)
}

// TestNode: records have the name of their node.
func TestNode(t *testing.T) {
	m := newMachine(t, nil)
	var s sink
	cfg := fast()
	cfg.NodeName, cfg.Attributes.HostName.Enabled = "node1", true
	l := m.logger("myapp")
	_, _ = m.start(cfg, &s)
	m.waitForSource()
	l.Info("hello")
	testscale.Eventually(t, func() bool { return s.LogRecordCount() == 1 }, "the record does not arrive")
	resource := s.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes().AsRaw()
	require.Equal(t, "node1", resource["host.name"])
	assert.Equal(t, "node1", resource["k8s.node.name"])
}
