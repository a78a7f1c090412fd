package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Reasons for skips that are right begin with one of these.
const (
	// otherKernel: this kernel lacks the feature, and another one of the matrix has it.
	otherKernel = "not on this kernel: "
	// onlyGuest: the test changes the machine, see kerneltest.Require.
	onlyGuest = "only in a guest: "
	// withoutRace: the race detector changes what is measured; a run without it follows.
	withoutRace = "not under the race detector: "
	// byHand: the test needs files that cannot be had everywhere.
	byHand = "only by hand: "
	// needsRoot: an ordinary user cannot run the test, a guest can.
	needsRoot = "needs root: "
)

// needs matches the reason of a test that needs something that machines can have: root, or a program. See testscale.NeedProgram.
var needs = regexp.MustCompile(`^needs ([a-z0-9-]+): `)

// kernelAttr is the attribute of tests that called kerneltest.Require and got a kernel.
const kernelAttr = "kernel"

// report follows what go test -json says and judges it.
type report struct {
	out     io.Writer
	kernel  string   // "": this machine
	asHost  bool     // no test may use the kernel
	allowed []string // prefixes of reasons for skips
	anyNeed bool     // needs are reasons, too
	verbose bool

	lock    sync.Mutex        // several guests report at a time
	output  map[string]string // by running test
	kernels map[string]bool   // running tests that use the kernel

	skipped                list              // tests that a guest can run
	lacked                 map[string]string // what skipped tests needed, by test
	passed, onKernel       int
	broken, brokenOnKernel int             // tests that failed or did not end
	printed                string          // by what is no test, since the last package ended
	names                  map[string]bool // of the tests that passed, and of packages that have any
	failed                 map[string]bool // packages, and tests whose subtests failed
	skips                  map[string]int  // by reason
	problems               []string
}

func newReport(out io.Writer, s *suite) *report {
	r := &report{
		out: out, kernel: s.machine.kernel, asHost: s.asHost, verbose: slices.Contains(s.args, "-v"), output: map[string]string{},
		kernels: map[string]bool{}, skipped: list{Guest: tests{}, Root: tests{}}, lacked: map[string]string{},
		names: map[string]bool{}, failed: map[string]bool{}, skips: map[string]int{},
		allowed: []string{otherKernel, byHand}, anyNeed: !s.needed,
	}
	if r.kernel == "" || r.asHost { // simulated kernels have their differences, too
		r.allowed = append(r.allowed, onlyGuest)
	}
	if r.kernel == "" {
		r.allowed = append(r.allowed, needsRoot)
		if slices.Contains(s.args, "-race") {
			r.allowed = append(r.allowed, withoutRace)
		}
	}
	return r
}

func (r *report) where() string {
	if r.kernel == "" {
		return "this machine"
	}
	return "kernel " + r.kernel
}

func (r *report) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *report) follow(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := r.read(out); err != nil {
		_ = cmd.Process.Kill()
		return errors.Join(err, cmd.Wait())
	}
	return cmd.Wait()
}

// event is a line of go test -json (go doc cmd/test2json).
type event struct{ Action, Package, Test, Output, Key string }

// read takes events.
func (r *report) read(from io.Reader) error {
	for d := json.NewDecoder(from); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			rest, _ := io.ReadAll(io.LimitReader(d.Buffered(), 500)) // of memory
			return fmt.Errorf("go test -json said %q: %w", rest, err)
		}
		r.lock.Lock()
		r.event(e)
		r.lock.Unlock()
	}
}

func (r *report) event(e event) {
	test := e.Package + " " + e.Test
	if e.Output != "" && (r.verbose || e.Test == "" && !usualOutput.MatchString(e.Output)) {
		fmt.Fprint(r.out, e.Output)
	}
	if e.Test == "" {
		if e.Action == "build-output" || e.Action == "output" {
			r.printed += e.Output
		}
		if e.Action == "fail" {
			r.unfinished(e.Package)
			if !r.failed[e.Package] {
				r.problem("%s failed%s", e.Package, reason(r.printed))
			}
			r.failed[e.Package] = true
			r.printed = ""
		}
		if e.Action == "pass" {
			r.printed = ""
		}
		return
	}
	r.names[e.Package] = true
	if e.Action == "output" {
		r.output[test] += e.Output
		if strings.HasPrefix(e.Test, "Benchmark") && benchmarkLine.MatchString(r.output[test]) { // it has no other end
			e.Action = "pass"
			for parent := range parents(e.Package, test) { // nor has the benchmark that it belongs to
				delete(r.output, parent)
			}
		}
	}
	switch e.Action {
	case "attr":
		if e.Key == kernelAttr {
			r.kernels[test] = true
		}
		return
	case "pass":
		r.passed++
		r.names[test] = true
		if r.kernels[test] {
			r.onKernel++
		}
	case "fail":
		r.fail(e.Package, test, "failed")
	case "skip":
		reason := r.skip(test)
		switch m := needs.FindStringSubmatch(reason); {
		case strings.HasPrefix(reason, onlyGuest):
			r.skipped.Guest.add(e.Package, e.Test)
		case strings.HasPrefix(reason, needsRoot):
			r.skipped.Root.add(e.Package, e.Test)
			fallthrough
		case m != nil:
			r.lacked[test] = m[1]
		}
	default:
		return
	}
	delete(r.output, test)
	delete(r.kernels, test)
}

// unfinished reports the tests without an end that a binary leaves when it dies.
func (r *report) unfinished(pkg string) {
	for _, test := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(test, pkg+" ") {
			r.fail(pkg, test, "did not end")
			delete(r.output, test)
		}
	}
}

// ended takes the end of a test binary that a guest ran: the exit status, and what was wrong with the guest.
func (r *report) ended(pkg string, status int, problems []string, took time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(problems) > 0 {
		r.problem("%s: %s", pkg, strings.Join(problems, "; "))
	}
	result := "ok  "
	if status != 0 || len(problems) > 0 {
		result = "FAIL"
		r.unfinished(pkg)
		if len(problems) == 0 && !r.failed[pkg] {
			r.problem("%s: exit status %d", pkg, status)
		}
	}
	fmt.Fprintf(r.out, "%s\t%s\t%.1fs\n", result, pkg, took.Seconds())
}

// fail reports a test, unless it failed because of a subtest, which has been reported.
func (r *report) fail(pkg, test, how string) {
	if !r.verbose {
		fmt.Fprint(r.out, r.output[test])
	}
	r.broken++
	if r.kernels[test] {
		r.brokenOnKernel++
	}
	if !r.failed[test] {
		r.problem("%s %s%s\n%s", test, how, reason(r.output[test]), r.again(pkg, strings.TrimPrefix(test, pkg+" ")))
	}
	r.failed[pkg] = true
	for parent := range parents(pkg, test) {
		r.failed[parent] = true
	}
}

// parents yields the tests that a subtest belongs to.
func parents(pkg, test string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, c := range test {
			if c == '/' && i > len(pkg) && !yield(test[:i]) {
				return
			}
		}
	}
}

// usualOutput is what a test binary prints though all is well: before its benchmarks, and at its end.
var usualOutput = regexp.MustCompile(`^(goos: |goarch: |pkg: |cpu: |PASS\n)`)

var logLine = regexp.MustCompile(`(?m)^ +[^ ]+\.go:\d+: (.*)$`)

// skip counts a skipped test and returns the reason, or reports that it has none that counts.
func (r *report) skip(test string) (reason string) {
	reason = "no reason"
	for _, log := range logLine.FindAllStringSubmatch(r.output[test], -1) {
		reason = log[1]
		// A cleanup may log after the skip.
		if slices.ContainsFunc(r.allowed, func(prefix string) bool { return strings.HasPrefix(reason, prefix) }) || r.anyNeed && needs.MatchString(reason) {
			r.skips[reason]++
			return reason
		}
	}
	r.problem("%s skipped (%s): here, a reason begins with %q", test, reason, r.allowed)
	return reason
}
