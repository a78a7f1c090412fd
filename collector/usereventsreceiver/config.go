package usereventsreceiver

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/tail"
)

// Config is the configuration of the receiver. README.md describes the keys.
type Config struct {
	// Events are patterns of the events to collect, as in [reader.Options]; empty means all user events. Exclude are
	// patterns of events that are not collected even if they match Events.
	Events  []string `mapstructure:"events"`
	Exclude []string `mapstructure:"exclude"`
	// Level is the lowest severity of the log records to collect, such as debug, info or warn2; empty means all.
	Level string `mapstructure:"level"`
	// Cgroup is the directory of a cgroup, such as /sys/fs/cgroup/kubepods.slice. Only the processes in and below it are
	// recorded then. Empty means all processes.
	Cgroup string `mapstructure:"cgroup"`
	// Where is a condition on records, as of [reader.ParseCondition]; empty means all.
	Where string `mapstructure:"where"`
	// Transport selects the programs: those that register events with the kernel, those that offer them in shared memory, or both.
	Transport Transport `mapstructure:"transport"`
	// NodeName is the name of the Kubernetes node, the resource attributes k8s.node.name and host.name. Empty means that host.name is
	// the machine's name, if this process is not in a container with a name of its own.
	NodeName string `mapstructure:"node_name"`

	// BudgetMiB is the memory of rings and queue together, see budget.
	BudgetMiB  int              `mapstructure:"budget_mib"`
	Discovery  DiscoveryConfig  `mapstructure:"discovery"`
	Share      ShareConfig      `mapstructure:"program_share"`
	Ring       RingConfig       `mapstructure:"ring"`
	Batch      BatchConfig      `mapstructure:"batch"`
	Spans      SpansConfig      `mapstructure:"spans"`
	Tail       TailConfig       `mapstructure:"tail"`
	Mapping    Mapping          `mapstructure:"mapping"`
	Attributes AttributesConfig `mapstructure:"resource_attributes"`
	Retry      RetryConfig      `mapstructure:"retry_on_failure"`

	RecordAttributes RecordAttributesConfig `mapstructure:"attributes"`
}

// DiscoveryConfig says how events are found.
type DiscoveryConfig struct {
	// PollInterval is the interval of checks for new events, and for processors that went offline or came online.
	PollInterval time.Duration `mapstructure:"poll_interval"`
	// RetryInterval is the time between two attempts to open the session while something is missing, such as tracefs
	// or permission.
	RetryInterval time.Duration `mapstructure:"retry_interval"`
	// ReleaseOnExit detaches from an event when the last process that was seen to write it has exited, so that a new
	// version of the program can register it with other fields.
	ReleaseOnExit bool `mapstructure:"release_on_exit"`
	// MaxEvents limits how many events of the kernel are attached at the same time, and how many in the shared memory of each program;
	// 0 means as many as the limit of descriptors allows. The log names the others.
	MaxEvents int `mapstructure:"max_events"`
}

// ShareConfig limits what each program writes in a second, in all of its events together, for the sake of the others. Above it, those of its
// events that have more than an equal part are disabled for the rest of the second. 0 means any number.
type ShareConfig struct {
	Records int `mapstructure:"records_per_second"`
	KiB     int `mapstructure:"kib_per_second"` // of payload
}

// RingConfig has the options of the rings: the kernel has one for each processor, and the shared memory of a program has as many as
// it uses processors.
type RingConfig struct {
	// Latency is the longest time that a record stays in a ring that is less than a quarter full.
	Latency time.Duration `mapstructure:"latency"`
	// ReorderWindow is the time that a record is held back so that older records of other processors come first.
	ReorderWindow time.Duration `mapstructure:"reorder_window"`
}

// BatchConfig has the limits of a batch, which is delivered when it reaches one of them.
type BatchConfig struct {
	// MaxRecords is the number of log records, spans or data points.
	MaxRecords int `mapstructure:"max_records"`
	// MaxSizeKiB is the approximate size of the batch as JSON, in KiB.
	MaxSizeKiB int `mapstructure:"max_size_kib"`
	// Timeout is the time since the first record.
	Timeout time.Duration `mapstructure:"timeout"`
}

// SpansConfig has the limits of the events and links that wait for the end of their span, and the choice for starts
// of spans.
type SpansConfig struct {
	MaxPending int `mapstructure:"max_pending"`  // number of spans
	MaxSizeMiB int `mapstructure:"max_size_mib"` // size of their events and links as JSON
	// MaxWait limits the wait for late records: for events and links after the record of their span, and for all records of a
	// program that has ended.
	MaxWait time.Duration `mapstructure:"max_wait"`
	// Starts makes a log record of each start of a span.
	Starts bool `mapstructure:"starts"`
}

// AttributesConfig selects the resource attributes that the receiver sets. Where they are known, they replace what programs send. Those
// that are not enabled stay as programs send them.
type AttributesConfig struct {
	PID            AttributeConfig `mapstructure:"process.pid"`
	ExecutableName AttributeConfig `mapstructure:"process.executable.name"`
	Cgroup         AttributeConfig `mapstructure:"process.linux.cgroup"`
	ContainerID    AttributeConfig `mapstructure:"container.id"`
	PodUID         AttributeConfig `mapstructure:"k8s.pod.uid"`
	HostName       AttributeConfig `mapstructure:"host.name"`
	NodeName       AttributeConfig `mapstructure:"k8s.node.name"`
}

// RecordAttributesConfig selects the attributes that the receiver sets in log records and spans, unless their program does.
type RecordAttributesConfig struct {
	Thread AttributeConfig `mapstructure:"thread.id"`
	Name   AttributeConfig `mapstructure:"user_events.name"`
}

// AttributeConfig selects an attribute.
type AttributeConfig struct {
	Enabled bool `mapstructure:"enabled"`
}

// RetryConfig says how long data is delivered again that a pipeline refused with an error that is not permanent.
type RetryConfig struct {
	Enabled         bool          `mapstructure:"enabled"`
	InitialInterval time.Duration `mapstructure:"initial_interval"` // doubled for each attempt
	MaxInterval     time.Duration `mapstructure:"max_interval"`
	// MaxElapsedTime is the time after which the data is dropped and counted, at most a minute.
	MaxElapsedTime time.Duration `mapstructure:"max_elapsed_time"`
}

// Mapping is the way in which records become OpenTelemetry data.
type Mapping string

const (
	// MappingAuto recognises log records, spans and metrics by their fields.
	MappingAuto Mapping = "auto"
	// MappingRaw makes each record a log record whose attributes are its fields.
	MappingRaw Mapping = "raw"
)

// Transport is the way of events from programs to the receiver.
type Transport string

const (
	// TransportAny is both of the others, or the one that is possible.
	TransportAny Transport = "any"
	// TransportKernel is the kernel's tracepoints.
	TransportKernel Transport = "kernel"
	// TransportMemory is shared memory of programs that may not register events with the kernel.
	TransportMemory Transport = "memory"
)

// transports are the same for a reader.
var transports = map[Transport]reader.Transport{
	TransportAny: reader.TransportAny, TransportKernel: reader.TransportKernel, TransportMemory: reader.TransportMemory,
}

// maxRetry limits RetryConfig.MaxElapsedTime: the rings lose records meanwhile.
const maxRetry = time.Minute

func defaultConfig() *Config {
	return &Config{
		Transport: TransportAny,
		BudgetMiB: 512,
		Discovery: DiscoveryConfig{PollInterval: 250 * time.Millisecond, RetryInterval: 5 * time.Second, ReleaseOnExit: true},
		Ring:      RingConfig{Latency: 100 * time.Millisecond, ReorderWindow: 10 * time.Millisecond},
		Batch:     BatchConfig{MaxRecords: 8192, MaxSizeKiB: 4096, Timeout: 200 * time.Millisecond},
		Spans:     SpansConfig{MaxPending: 10_000, MaxSizeMiB: 16, MaxWait: 2 * time.Second},
		Mapping:   MappingAuto,
		Tail:      TailConfig{By: "trace_id", Window: tail.DefaultWindow, SizeMiB: tail.DefaultBytes >> 20},
		Attributes: AttributesConfig{
			PID: AttributeConfig{true}, ExecutableName: AttributeConfig{true}, Cgroup: AttributeConfig{true}, ContainerID: AttributeConfig{true},
			PodUID: AttributeConfig{true}, HostName: AttributeConfig{true}, NodeName: AttributeConfig{true},
		},
		RecordAttributes: RecordAttributesConfig{Name: AttributeConfig{true}},
		Retry:            RetryConfig{Enabled: true, InitialInterval: 100 * time.Millisecond, MaxInterval: 5 * time.Second, MaxElapsedTime: maxRetry},
	}
}

// where returns the condition of the level and of Where. Errors have the keys.
func (c *Config) where() (*reader.Condition, error) {
	var parts []string
	var errs []error
	if c.Level != "" {
		if _, err := reader.ParseSeverity(c.Level); err != nil {
			errs = append(errs, fmt.Errorf("level: %w", err))
		}
		parts = append(parts, "(level >= "+c.Level+" or not has(level))")
	}
	if c.Where != "" {
		if _, err := reader.ParseCondition(c.Where); err != nil {
			errs = append(errs, fmt.Errorf("where: %w", err))
		}
		parts = append(parts, "("+c.Where+"\n)")
	}
	if len(parts) == 0 || len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return reader.ParseCondition(strings.Join(parts, " and "))
}

// Validate reports all errors of the configuration that the parts do not report themselves.
func (c *Config) Validate() error {
	var errs []error
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"events", c.Events}, {"exclude", c.Exclude}} {
		for _, p := range list.patterns {
			if _, err := reader.Match(p); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", list.key, err))
			}
		}
	}
	if _, err := c.where(); err != nil {
		errs = append(errs, err)
	}
	if err := within("budget_mib", c.BudgetMiB, 1, 1<<20); err != nil {
		errs = append(errs, err)
	}
	if c.Cgroup != "" && !filepath.IsAbs(c.Cgroup) {
		errs = append(errs, fmt.Errorf("cgroup: %q is not the path of a directory, such as /sys/fs/cgroup/system.slice", c.Cgroup))
	}
	if _, ok := transports[c.Transport]; !ok {
		errs = append(errs, fmt.Errorf("transport: %q is none of %s, %s and %s", c.Transport, TransportAny, TransportKernel, TransportMemory))
	}
	if c.Mapping != MappingAuto && c.Mapping != MappingRaw {
		errs = append(errs, fmt.Errorf("mapping: %q is neither %s nor %s", c.Mapping, MappingAuto, MappingRaw))
	}
	if c.Tail.When != "" && c.Mapping == MappingRaw {
		errs = append(errs, fmt.Errorf("tail: it needs mapping: %s, which decodes what conditions name", MappingAuto))
	}
	return errors.Join(errs...)
}

// Validate reports all errors.
func (c *DiscoveryConfig) Validate() error {
	return errors.Join(
		within("poll_interval", c.PollInterval, time.Millisecond, time.Hour),
		within("retry_interval", c.RetryInterval, time.Millisecond, time.Hour),
		within("max_events", c.MaxEvents, 0, 1<<30))
}

// Validate reports all errors.
func (c *ShareConfig) Validate() error {
	return errors.Join(within("records_per_second", c.Records, 0, 1<<30), within("kib_per_second", c.KiB, 0, 1<<21))
}

// Validate reports all errors.
func (c *RingConfig) Validate() error {
	return errors.Join(
		within("latency", c.Latency, time.Millisecond, time.Minute),
		within("reorder_window", c.ReorderWindow, time.Millisecond, time.Second))
}

// Validate reports all errors.
func (c *BatchConfig) Validate() error {
	return errors.Join(
		within("max_records", c.MaxRecords, 1, 1<<20),
		within("max_size_kib", c.MaxSizeKiB, 1, 1<<20),
		within("timeout", c.Timeout, time.Millisecond, time.Minute))
}

// Validate reports all errors.
func (c *SpansConfig) Validate() error {
	return errors.Join(
		within("max_pending", c.MaxPending, 1, 1<<30),
		within("max_size_mib", c.MaxSizeMiB, 1, 1<<20),
		within("max_wait", c.MaxWait, time.Millisecond, time.Minute))
}

// Validate reports all errors.
func (c *RetryConfig) Validate() error {
	if !c.Enabled {
		return nil
	}
	return errors.Join(
		within("initial_interval", c.InitialInterval, time.Millisecond, maxRetry),
		within("max_interval", c.MaxInterval, time.Millisecond, maxRetry),
		within("max_elapsed_time", c.MaxElapsedTime, time.Millisecond, maxRetry))
}

// within reports a value outside of a range.
func within[T int | time.Duration](key string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s: %v is not from %v to %v", key, v, low, high)
	}
	return nil
}
