package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// defaults are the values of the receiver's settings that bound its memory.
type defaults struct{ budgetMiB, batchKiB, spansMiB float64 }

// readDefaults reads the table of settings in the receiver's README.
func readDefaults(root string) (d defaults, err error) {
	name := filepath.Join(root, "collector", "usereventsreceiver", "README.md")
	text, err := os.ReadFile(name)
	if err != nil {
		return d, err
	}
	for key, v := range map[string]*float64{
		"budget_mib": &d.budgetMiB, "batch.max_size_kib": &d.batchKiB, "spans.max_size_mib": &d.spansMiB,
	} {
		m := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(key) + "` \\| (\\d+) \\|").FindSubmatch(text)
		if m == nil {
			return d, fmt.Errorf("%s has no default of %s", name, key)
		}
		if *v, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Memory of records that are taken out of the rings at a time: in all, or for each processor if that is more.
const (
	drainMiB          = 10
	drainProcessorKiB = 60
)

// bound returns the memory that the receiver takes at most, in MiB, as its README says.
func (d defaults) bound(processors float64) float64 {
	return d.budgetMiB + max(drainMiB, processors*drainProcessorKiB/1024) + 6*d.batchKiB/1024 + d.spansMiB
}

// What the benchmarks of the Collector are called.
const (
	collectorPkg = "collector/distribution/internal/collectortest:"
	receiverPkg  = "collector/usereventsreceiver:"
)

// sizing has what docs/collector.md says about the cost of a Collector.
type sizing struct {
	run      *figures.Run
	defaults defaults
	// Processor time for a record: of user_events and of file_log with json_parser in the guest, in instructions, and of file_log on
	// the machine that emulates it, in nanoseconds.
	ours, theirs, native float64
	// Processor time in a second without records, as a share, and memory then, in bytes.
	idle, resident float64
}

func newSizing(run *figures.Run, d defaults) (*sizing, error) {
	s := &sizing{run: run, defaults: d}
	for _, v := range []struct {
		to         *float64
		name, unit string
	}{
		{&s.ours, "Throughput/user_events", ""},
		{&s.theirs, "Throughput/file_log-json", ""},
		{&s.native, "Native/file_log-json", ""},
		{&s.idle, "Idle/user_events=100", ""},
		{&s.resident, "Idle/user_events=100", "resident-bytes"},
	} {
		var err error
		if *v.to, err = s.value(v.name, v.unit); err != nil {
			return nil, err
		}
	}
	s.idle /= float64(time.Second)
	return s, nil
}

// value returns a figure: its cost if unit is empty.
func (s *sizing) value(name, unit string) (float64, error) {
	f, err := find(s.run, collectorPkg+name)
	if err != nil || unit == "" {
		return f.Cost, err
	}
	v, ok := f.Others[unit]
	if !ok {
		return 0, fmt.Errorf("no %s of %s", unit, name)
	}
	return v, nil
}

// Rate returns the records per second of a processor's time.
func (s *sizing) Rate(name string) (string, error) {
	v, err := s.value(name, "")
	return thousands(float64(time.Second) / v), err
}

// Instructions returns the instructions of a record: a nanosecond of the guest is one.
func (s *sizing) Instructions(name string) (string, error) {
	v, err := s.value(name, "")
	return thousands(v), err
}

// Micros returns the processor time of a record.
func (s *sizing) Micros(name string) (string, error) {
	v, err := s.value(name, "")
	return fmt.Sprintf("%.1f us", v/1000), err
}

// Receiver returns the processor time of a record in the receiver alone, on the machine.
func (s *sizing) Receiver() (string, error) {
	v, err := cost(s.run, receiverPkg+"Receiver/auto")
	return fmt.Sprintf("%.1f us", v/1000), err
}

// Ratio returns how many records of user_events take the time of one from a file.
func (s *sizing) Ratio(name string) (string, error) {
	v, err := s.value(name, "")
	return fmt.Sprintf("%.1f", v/s.ours), err
}

// Percent returns the share of the guest's processor that is used without records.
func (s *sizing) Percent(name string) (string, error) {
	v, err := s.value(name, "")
	return fmt.Sprintf("%.2f %%", 100*v/float64(time.Second)), err
}

// MiB returns a value in bytes as MiB.
func (s *sizing) MiB(name, unit string) (string, error) {
	v, err := s.value(name, unit)
	return fmt.Sprintf("%.0f MiB", v/(1<<20)), err
}

// Millis returns nanoseconds as milliseconds; unit is empty for the figure itself.
func (s *sizing) Millis(name, unit string) (string, error) {
	v, err := s.value(name, unit)
	return fmt.Sprintf("%.0f ms", v/float64(time.Millisecond)), err
}

// Seconds returns a value of seconds.
func (s *sizing) Seconds(name, unit string) (string, error) {
	v, err := s.value(name, unit)
	return fmt.Sprintf("%.0f s", v), err
}

// Count returns a number of records: all that were written if unit is empty.
func (s *sizing) Count(name, unit string) (string, error) {
	if unit != "" {
		v, err := s.value(name, unit)
		return strconv.FormatFloat(v, 'f', -1, 64), err
	}
	f, err := find(s.run, collectorPkg+name)
	return thousands(float64(f.Calls)), err
}

// kept returns how many records the receiver kept while its consumer was stalled: all but those that were lost.
func (s *sizing) kept() (float64, error) {
	f, err := find(s.run, collectorPkg+"Stall/rate=10000")
	return float64(f.Calls) - f.Others["lost-records"], err
}

// Kept is the result of kept.
func (s *sizing) Kept() (string, error) {
	v, err := s.kept()
	return thousands(v), err
}

// scale is the time on the machine for one of the guest that it emulates: that of file_log.
func (s *sizing) scale() float64 { return s.native / s.theirs }

// estimate returns the processor time of a record on the machine, in nanoseconds.
func (s *sizing) estimate() float64 { return s.ours * s.scale() }

// Estimate is the result of estimate, and the rate that follows from it.
func (s *sizing) Estimate() string { return fmt.Sprintf("%.1f us", s.estimate()/1000) }

// EstimatedRate is the number of records per second of a processor that follows from estimate.
func (s *sizing) EstimatedRate() string { return thousands(float64(time.Second) / s.estimate()) }

// Bound returns the memory that the receiver and its Collector take at most.
func (s *sizing) Bound(processors float64) string {
	return fmt.Sprintf("%.0f MiB", s.defaults.bound(processors)+s.resident/(1<<20))
}

// Rates returns a row for each rate of records on a node: the share of a processor, and how long a consumer may stall until records are lost.
func (s *sizing) Rates() (string, error) {
	kept, err := s.kept()
	var b strings.Builder
	for _, rate := range []float64{100, 1000, 10_000} {
		processors := s.idle*s.scale() + rate*s.estimate()/float64(time.Second)
		row(&b, []string{thousands(rate), fmt.Sprintf("%.2f %%", 100*processors), fmt.Sprintf("%.0f s", kept/rate)})
	}
	return strings.TrimSuffix(b.String(), "\n"), err
}

// About describes the run.
func (s *sizing) About() string { return about(s.run) }
