package usereventsreceiver

import (
	"path/filepath"
	"slices"
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
	"github.com/userevents/userevents-go/reader"
)

// undecoded leaves records for the worker.
var undecoded = reader.DecodeOptions{Mode: reader.DecodeNone, Reuse: true}

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
	assert.Equal(t, []reader.Kind{reader.KindLog, reader.KindOther, reader.KindMetric}, cfg.kinds(out))
	cfg.Spans.Starts = true
	out.metrics.consume = nil
	assert.Equal(t, []reader.Kind{reader.KindLog, reader.KindOther, reader.KindSpanStart}, cfg.kinds(out))
	out = allSignals()
	out.logs.consume = nil
	assert.Equal(t, []reader.Kind{reader.KindSpan, reader.KindSpanEvent, reader.KindSpanLink, reader.KindMetric}, cfg.kinds(out))
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
		Events: []string{"*"}, Transport: reader.TransportAny, Decode: undecoded,
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
	assert.Equal(t, "(level >= warn2 or not has(level)) and (status >= 500\n)", o.Where.String())
	o.Where = nil
	assert.Equal(t, &reader.Options{
		Events: cfg.Events, Excludes: cfg.Exclude, Cgroup: cfg.Cgroup, MaxEvents: 500, Transport: reader.TransportMemory,
		ProgramLimit: reader.ProgramLimit{Records: 1000, Bytes: 512 << 10},
		CgroupID:     true, Partial: true, Poll: time.Second, BufferSize: cfg.budget(processors()).ring, ProgramMemory: cfg.budget(processors()).programs, Latency: 50 * time.Millisecond, Window: 20 * time.Millisecond, Decode: undecoded,
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

// TestConfigWhere: a level is one of log records.
func TestConfigWhere(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Level: "warn"}, "(level >= warn or not has(level))"},
		{Config{Where: "status >= 500"}, "(status >= 500\n)"},
		{Config{Level: "Error3", Where: "kind == log"}, "(level >= Error3 or not has(level)) and (kind == log\n)"},
	} {
		where, err := c.cfg.where()
		require.NoError(t, err)
		assert.Equal(t, c.want, where.String())
	}
	where, err := new(Config).where()
	require.NoError(t, err)
	assert.Nil(t, where)
}
