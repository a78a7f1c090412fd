package usereventsreceiver

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configretry"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// Mapping is the way in which records become OpenTelemetry data.
type Mapping string

const (
	// mappingAuto recognises log records, spans and metrics by their fields.
	mappingAuto Mapping = "auto"
	// mappingRaw makes each record a log record whose attributes are its fields.
	mappingRaw Mapping = "raw"
)

// Transport is the way of events from programs to the receiver.
type Transport string

const (
	// transportAny is both of the others, or the one that is possible.
	transportAny Transport = "any"
	// transportKernel is the kernel's tracepoints.
	transportKernel Transport = "kernel"
	// transportMemory is shared memory of programs that may not register events with the kernel.
	transportMemory Transport = "memory"
)

var transports = map[Transport]reader.Transport{
	transportAny: reader.TransportAny, transportKernel: reader.TransportKernel, transportMemory: reader.TransportMemory,
}

// maxRetry limits retry_on_failure.max_elapsed_time: the rings lose records meanwhile.
const maxRetry = time.Minute

// defaultConfig returns the defaults of metadata.yaml, and those that mdatagen cannot write.
func defaultConfig() *Config {
	c := createDefaultConfig().(*Config)
	c.RetryOnFailure.InitialInterval, c.RetryOnFailure.MaxInterval = 100*time.Millisecond, 5*time.Second
	c.Attributes = metadata.DefaultResourceAttributesConfig()
	return c
}

// where returns the condition of the level and of Where. Errors have the keys.
func (c *Config) where() (*where.Condition, error) {
	var parts []*where.Condition
	var errs []error
	if c.Level != "" {
		least, err := record.ParseSeverity(c.Level)
		if err != nil {
			errs = append(errs, fmt.Errorf("level: %w", err))
		} else {
			parts = append(parts, where.Level(least))
		}
	}
	if c.Where != "" {
		own, err := where.Parse(c.Where)
		if err != nil {
			errs = append(errs, fmt.Errorf("where: %w", err))
		}
		parts = append(parts, own)
	}
	return where.And(parts...), errors.Join(errs...)
}

// validateConfig reports all errors of the configuration but those of retry_on_failure.
func validateConfig(c *Config) error {
	errs := checkPatterns("events", c.Events, func(p string) error {
		if c.Transport == transportMemory && !ofUserEvents(p) {
			return fmt.Errorf("%q is an event of the kernel, which transport: %s does not read", p, transportMemory)
		}
		return nil
	})
	errs = append(errs, checkPatterns("exclude", c.Exclude, nil)...)
	if _, err := c.where(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs,
		within("budget_mib", c.BudgetMiB, 1, mostBudget),
		within("discovery: poll_interval", c.Discovery.PollInterval, time.Millisecond, time.Hour),
		within("discovery: retry_interval", c.Discovery.RetryInterval, time.Millisecond, time.Hour),
		within("discovery: max_events", c.Discovery.MaxEvents, 0, 1<<30),
		within("program_limit: records_per_second", c.ProgramLimit.RecordsPerSecond, 0, 1<<30),
		within("program_limit: kib_per_second", c.ProgramLimit.KiBPerSecond, 0, 1<<21),
		within("ring: latency", c.Ring.Latency, time.Millisecond, time.Minute),
		within("ring: reorder_window", c.Ring.ReorderWindow, time.Millisecond, time.Second),
		within("batch: max_records", c.Batch.MaxRecords, 1, 1<<20),
		within("batch: max_size_kib", c.Batch.MaxSizeKiB, 1, 1<<20),
		within("batch: timeout", c.Batch.Timeout, time.Millisecond, time.Minute),
		within("spans: max_pending", c.Spans.MaxPending, 1, 1<<30),
		within("spans: max_size_mib", c.Spans.MaxSizeMiB, 1, 1<<20),
		within("spans: max_wait", c.Spans.MaxWait, time.Millisecond, time.Minute),
		within("tail: window", c.Tail.Window, time.Millisecond, time.Hour),
		within("tail: size_mib", c.Tail.SizeMiB, tail.MinBytes>>20, 1<<20))
	if f := c.Discovery.RulesFile; f != "" && !filepath.IsAbs(f) {
		errs = append(errs, fmt.Errorf("discovery: rules_file: %q is not the path of a file, such as /etc/userevents-collector/rules/rules.yaml", f))
	}
	if c.Tail.When != "" {
		if _, err := where.Parse(c.Tail.When); err != nil {
			errs = append(errs, fmt.Errorf("tail: when: %w", err))
		}
	}
	if c.Tail.By == "" {
		errs = append(errs, errors.New("tail: by: it is empty, and names the value that records share, such as trace_id"))
	}
	if c.Cgroup != "" && !filepath.IsAbs(c.Cgroup) {
		errs = append(errs, fmt.Errorf("cgroup: %q is not the path of a directory, such as /sys/fs/cgroup/system.slice", c.Cgroup))
	}
	if _, ok := transports[c.Transport]; !ok {
		errs = append(errs, fmt.Errorf("transport: %q is none of %s, %s and %s", c.Transport, transportAny, transportKernel, transportMemory))
	}
	if c.Mapping != mappingAuto && c.Mapping != mappingRaw {
		errs = append(errs, fmt.Errorf("mapping: %q is neither %s nor %s", c.Mapping, mappingAuto, mappingRaw))
	}
	if c.Tail.When != "" && c.Mapping == mappingRaw {
		errs = append(errs, fmt.Errorf("tail: it needs mapping: %s, which decodes what conditions name", mappingAuto))
	}
	return errors.Join(errs...)
}

// checkPatterns reports the patterns of a key that are wrong, or that allow does not allow, which may be nil.
func checkPatterns(key string, patterns []string, allow func(string) error) (errs []error) {
	for _, p := range patterns {
		_, err := reader.Match(p)
		if err == nil && allow != nil {
			err = allow(p)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	return errs
}

// ofUserEvents reports whether a pattern selects user events, rather than those of another system of the kernel.
func ofUserEvents(pattern string) bool {
	system, _, ok := strings.Cut(pattern, ":")
	return !ok || system == tracepoint.System || system == tracepoint.MultiSystem
}

// validateRetry reports what the receiver does not allow beside what c.Validate reports.
func validateRetry(c configretry.BackOffConfig) error {
	if !c.Enabled {
		return nil
	}
	return errors.Join(
		within("retry_on_failure: initial_interval", c.InitialInterval, time.Millisecond, maxRetry),
		within("retry_on_failure: max_interval", c.MaxInterval, time.Millisecond, maxRetry),
		within("retry_on_failure: max_elapsed_time", c.MaxElapsedTime, time.Millisecond, maxRetry),
		within("retry_on_failure: multiplier", c.Multiplier, 1, 1000))
}

func within[T int | float64 | time.Duration](key string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("%s: %v is not from %v to %v", key, v, low, high)
	}
	return nil
}

// budget is the memory that follows from Config.BudgetMiB, in bytes: an eighth is for the rings of the kernel, an eighth for the queue, and
// the rest for the programs in shared memory.
type budget struct {
	ring     int // each ring of the kernel, and at most the rings of each program
	queue    int
	programs int // the rings of all programs
}

const (
	// mostBudget is the largest BudgetMiB: more is a mistake, such as KiB. The number of bytes is an int.
	mostBudget = min(64<<10, math.MaxInt>>20)
	// ringSets is how many rings a processor has: of errors, of events that were above their share, and of all others.
	ringSets = 3
	// Limits of the size of a ring, which is a power of two.
	leastRing, mostRing = 16 << 10, 1 << 20
	// programCopies is the memory that a program takes, in units of its rings: these, and copies of records, while it or another program
	// is stopped in the middle of a record.
	programCopies = 7
)

func (c *Config) budget(processors int) budget {
	all := c.BudgetMiB << 20
	b := budget{ring: mostRing, queue: all / 8, programs: all / 4 * 3 / programCopies}
	for b.ring > leastRing && ringSets*processors*b.ring > all/8 {
		b.ring /= 2
	}
	return b
}

func processors() int {
	if n, err := perf.CPUs(); err == nil {
		return n
	}
	return runtime.NumCPU() // where the kernel's events cannot be read either
}

func (c *Config) converterOptions() *otlp.Options {
	a := &c.Attributes
	o := &otlp.Options{
		DropSpanStarts: !c.Spans.Starts, Raw: c.Mapping == mappingRaw,
		OmitPID: !a.ProcessPid.Enabled, OmitExecutableName: !a.ProcessExecutableName.Enabled, OmitCgroup: !a.ProcessLinuxCgroup.Enabled,
		OmitContainerID: !a.ContainerID.Enabled, OmitPodUID: !a.K8sPodUID.Enabled,
		RootCgroup: sys.InitialNamespace("cgroup"),
		OmitThread: !c.RecordAttributes.ThreadID.Enabled, OmitName: !c.RecordAttributes.Name.Enabled,
		MaxSpans: c.Spans.MaxPending, MaxBytes: c.Spans.MaxSizeMiB << 20, MaxWait: c.Spans.MaxWait,
	}
	if a.HostName.Enabled {
		o.HostName = cmp.Or(c.NodeName, machineName())
	}
	if a.K8sNodeName.Enabled {
		o.NodeName = c.NodeName
	}
	return o
}

// machineName returns the name of the machine, or "" if this process has another one, as in a pod.
func machineName() string {
	if !sys.InitialNamespace("uts") {
		return ""
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
