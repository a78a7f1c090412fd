package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A test is a function of the package's tests.
type test struct {
	name string
	cost time.Duration // processor time
}

// What happened to a mutant.
type outcome int

const (
	notCovered outcome = iota
	lived
	killed
	endless // killed by the limit of time
	notViable
)

// quick tests run together, others one by one, the cheaper ones first.
const quick = 100 * time.Millisecond

// Limits of a run, beside the processor time that the tests take without a mutant. Processor time does not depend on
// what else the machine does; the wall clock only ends what waits for ever.
const (
	processorTime = 3 * time.Second
	wallTime      = 2 * time.Minute
	memory        = 4 << 20 // KiB, of addresses
)

// tests runs each test alone, without a mutant, and notes which mutants it reaches. It leaves out those that fail in the
// changed program.
func (t *target) tests(program, work, skip string) ([]*test, error) {
	list := exec.Command(program, "-test.list=.")
	list.Dir = t.dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	skipped, err := regexp.Compile(skip)
	if err != nil {
		return nil, err
	}
	var tests []*test
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "Benchmark") || skip != "" && skipped.MatchString(name) {
			continue
		}
		reached := filepath.Join(work, "reached")
		_ = os.Remove(reached)
		c := &test{name: name}
		out, cost, err := t.run(program, []*test{c}, math.MaxInt32*time.Second, "MUTANTS_REACHED="+reached)
		if err != nil {
			fmt.Printf("%s: %s fails in the changed program and is not used: %s\n%s", t.name, name, err, out)
			continue
		}
		c.cost = cost
		tests = append(tests, c)
		numbers, err := os.ReadFile(reached)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for n := range strings.FieldsSeq(string(numbers)) {
			id, err := strconv.Atoi(n)
			if err != nil {
				return nil, err
			}
			t.mutants[id-1].hit[c] = true
		}
	}
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(a.cost, b.cost) })
	return tests, nil
}

// try runs tests with a mutant until one of them fails.
func (t *target) try(program string, tests []*test, m *mutant) outcome {
	n := 0
	for n < len(tests) && tests[n].cost < quick {
		n++
	}
	batches := [][]*test{tests[:n]}
	for i := range tests[n:] {
		batches = append(batches, tests[n+i:n+i+1])
	}
	for _, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		var cost time.Duration
		for _, c := range batch {
			cost += c.cost
		}
		_, _, err := t.run(program, batch, processorTime+5*cost, "MUTANT="+strconv.Itoa(m.id))
		switch {
		case errors.Is(err, errTime):
			return endless
		case err != nil:
			return killed
		}
	}
	return lived
}

var errTime = errors.New("the limit of time")

// run runs tests in a program, and returns its output and the processor time that it took.
func (t *target) run(program string, tests []*test, limit time.Duration, env ...string) ([]byte, time.Duration, error) {
	names := make([]string, len(tests))
	for i, c := range tests {
		names[i] = c.name
	}
	ctx, cancel := context.WithTimeout(context.Background(), wallTime+10*min(limit, time.Minute))
	defer cancel()
	script := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memory, int(limit.Seconds()))
	cmd := exec.CommandContext(ctx, "sh", "-c", script, program,
		"-test.run=^("+strings.Join(names, "|")+")$", "-test.short", "-test.failfast", "-test.timeout=0", "-test.count=1")
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, 0, err
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && (ctx.Err() != nil || status.Signaled() && status.Signal() == syscall.SIGKILL) {
		err = errTime
	}
	return out.Bytes(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}
