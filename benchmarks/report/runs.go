package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// runs are the results that the page is made from.
type runs struct {
	counted *figures.Run // instructions, in a guest
	timed   *figures.Run // nanoseconds, in a guest with two processors
	native  *figures.Run // nanoseconds, on a machine without user_events
	rate    *figures.Run // processor time of the command for each of a million records
	memory  *figures.Run // nanoseconds of shared memory and LTTng-UST, on a machine; instructions of LTTng-UST
	request *timeline    // a request of examples/service

	// The Collector: instructions in a guest, which are nanoseconds there; Native and Receiver on the machine that emulates it.
	collector *figures.Run
	defaults  defaults // of the receiver
}

func load(dir string) (*runs, error) {
	var all runs
	for name, run := range map[string]**figures.Run{
		"6.12-instructions.txt": &all.counted, "6.12-time.txt": &all.timed, "native.txt": &all.native, "6.12-rate.txt": &all.rate,
		"6.12-collector.txt": &all.collector, "memory.txt": &all.memory,
	} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		*run, err = figures.Parse(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	var err error
	all.request, err = loadTimeline(dir)
	return &all, err
}

// find returns a figure. It is an error if the run does not have it.
func find(run *figures.Run, name string) (figures.Figure, error) {
	f, ok := run.Figures[name]
	if !ok {
		return f, fmt.Errorf("no figure for %s", name)
	}
	return f, nil
}

func cost(run *figures.Run, name string) (float64, error) {
	f, err := find(run, name)
	return f.Cost, err
}

// about describes the machine, the version and the command of a run.
func about(run *figures.Run) string {
	var parts []string
	for _, key := range []string{"kernel", "host", "processors", "go", "commit", "date", "command"} {
		if v := run.About[key]; v != "" {
			parts = append(parts, key+" "+v)
		}
	}
	return strings.Join(parts, "; ")
}
