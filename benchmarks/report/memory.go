package main

import (
	"fmt"
	"strings"
)

// memoryRow is a call with the event in shared memory, beside the kernel and LTTng-UST.
type memoryRow struct {
	what   string
	turn   string // of BenchmarkMemoryTime
	memory string // its instructions
	kernel string // those of the same call with ftrace attached
	lttng  string // the turn of LTTng-UST with which it is compared; "" if there is none
}

var memoryRows = []memoryRow{
	{"a record of 300 bytes, encoded before", "opaque", "Memory/opaque/tools=1", "Write/bytes=300", "lttng-opaque"},
	{"the same for two tools", "two", "Memory/opaque/tools=2", "Write/tools=2", "lttng-two"},
	{"for a tool that does not read: the ring is full", "full", "Memory/opaque/full", "Write/full", "lttng-full"},
	{"`structevent`, five attributes", "structevent", "Memory/structevent", "On/structevent/five", "lttng-five"},
	{"`sloghandler`, declared record logged directly", "sloghandler-direct", "Memory/sloghandler-direct", "On/sloghandler-direct/five", "lttng-five"},
	{"`sloghandler`", "sloghandler", "Memory/sloghandler", "On/sloghandler/five", "lttng-five"},
	{"`ueventstrace.TracerProvider`, a span with two attributes", "ueventstrace", "Memory/ueventstrace", "SpanOn/ueventstrace/two", ""},
}

// memoryTable returns the rows of calls in shared memory: instructions, times and their ratios.
func memoryTable(all *runs) (string, error) {
	var b strings.Builder
	for _, r := range memoryRows {
		cells := []string{r.what}
		for _, name := range []string{r.memory, r.kernel} {
			n, err := cost(all.counted, name)
			if err != nil {
				return "", err
			}
			cells = append(cells, thousands(n))
		}
		ours, err := turns(all, r.turn+"-median-ns", r.turn+"-least-ns")
		if err != nil {
			return "", err
		}
		if r.lttng == "" {
			row(&b, append(cells, "", thousands(ours[0]), "", "", ""))
			continue
		}
		theirs, err := turns(all, r.lttng+"-median-ns", r.lttng+"-least-ns", r.lttng+"-instructions")
		if err != nil {
			return "", err
		}
		ratio, err := turnRatio(all, r.turn)
		if err != nil {
			return "", err
		}
		row(&b, append(cells, thousands(theirs[2]), thousands(ours[0]), thousands(theirs[0]), ratio, fmt.Sprintf("%.2f", ours[1]/theirs[1])))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// turnRatio returns the median of a ratio, and what it was between in eight of ten rounds.
func turnRatio(all *runs, name string) (string, error) {
	values, err := turns(all, name+"-median-ratio", name+"-low-ratio", name+"-high-ratio")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", values[0], values[1], values[2]), nil
}

// turns returns values of BenchmarkMemoryTime by their units.
func turns(all *runs, units ...string) (values []float64, err error) {
	f, err := find(all.memory, "MemoryTime")
	if err != nil {
		return nil, err
	}
	for _, unit := range units {
		v, ok := f.Others[unit]
		if !ok {
			return nil, fmt.Errorf("no %s of MemoryTime", unit)
		}
		values = append(values, v)
	}
	return values, nil
}
