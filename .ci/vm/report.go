package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/userevents/userevents-go/internal/doctest"
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
)

// kernelAttr is the attribute of tests that called kerneltest.Require and got a kernel.
const kernelAttr = "kernel"

// report follows what go test -json says and judges it.
type report struct {
	out     io.Writer
	kernel  string   // "": this machine
	asHost  bool     // no test may use the kernel
	allowed []string // prefixes of reasons for skips
	verbose bool

	lock    sync.Mutex        // several guests report at a time
	output  map[string]string // by running test
	kernels map[string]bool   // running tests that use the kernel

	needGuest        map[string][]string // tests that were skipped for that, by package
	passed, onKernel int
	printed          string          // by what is no test, since the last package ended
	names            map[string]bool // of the tests that passed
	ran              map[string]bool // packages that have a test
	failed           map[string]bool // packages, and tests whose subtests failed
	skips            map[string]int  // by reason
	problems         []string
}

func newReport(out io.Writer, kernel string, asHost, race, verbose bool) *report {
	r := &report{
		out: out, kernel: kernel, asHost: asHost, verbose: verbose, output: map[string]string{},
		kernels: map[string]bool{}, needGuest: map[string][]string{}, names: map[string]bool{}, ran: map[string]bool{}, failed: map[string]bool{}, skips: map[string]int{},
	}
	switch {
	case kernel != "" && !asHost:
		r.allowed = []string{otherKernel, byHand}
	case race:
		r.allowed = []string{otherKernel, byHand, onlyGuest, withoutRace}
	default: // simulated kernels have their differences, too
		r.allowed = []string{otherKernel, byHand, onlyGuest}
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
	r.lock.Lock()
	defer r.lock.Unlock()
	r.addProblem(format, args...)
}

func (r *report) addProblem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// event takes a line of go test -json (go doc cmd/test2json).
func (r *report) event(line []byte) error {
	var e struct{ Action, Package, Test, Output, Key string }
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("go test -json said %q: %w", line, err)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
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
				r.addProblem("%s failed%s", e.Package, reason(r.printed))
			}
			r.failed[e.Package] = true
			r.printed = ""
		}
		if e.Action == "pass" {
			r.printed = ""
		}
		return nil
	}
	r.ran[e.Package] = true
	if e.Action == "output" {
		r.output[test] += e.Output
		if strings.HasPrefix(e.Test, "Benchmark") && benchmarkLine.MatchString(r.output[test]) { // it has no other end
			e.Action = "pass"
			for i, c := range e.Test {
				if c == '/' { // nor has the benchmark that it belongs to
					delete(r.output, e.Package+" "+e.Test[:i])
				}
			}
		}
	}
	switch e.Action {
	case "attr":
		if e.Key == kernelAttr {
			r.kernels[test] = true
		}
		return nil
	case "pass":
		r.passed++
		r.names[test] = true
		if r.kernels[test] {
			r.onKernel++
		}
	case "fail":
		r.fail(e.Package, test, "failed")
	case "skip":
		if strings.HasPrefix(r.skip(test), onlyGuest) {
			name, _, _ := strings.Cut(e.Test, "/") // a subtest stands for the test that it belongs to
			if !slices.Contains(r.needGuest[e.Package], name) {
				r.needGuest[e.Package] = append(r.needGuest[e.Package], name)
			}
		}
	default:
		return nil
	}
	delete(r.output, test)
	delete(r.kernels, test)
	return nil
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
func (r *report) ended(pkg string, status error, problems []string, took time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(problems) > 0 {
		r.addProblem("%s: %s", pkg, strings.Join(problems, "; "))
	}
	result := "ok  "
	if status != nil {
		result = "FAIL"
		r.unfinished(pkg)
		if len(problems) == 0 && !r.failed[pkg] {
			r.addProblem("%s: %v", pkg, status)
		}
	}
	fmt.Fprintf(r.out, "%s\t%s\t%.1fs\n", result, pkg, took.Seconds())
}

// fail reports a test, unless it failed because of a subtest, which has been reported.
func (r *report) fail(pkg, test, how string) {
	if !r.verbose {
		fmt.Fprint(r.out, r.output[test])
	}
	if !r.failed[test] {
		r.addProblem("%s %s%s\n%s", test, how, reason(r.output[test]), r.again(pkg, strings.TrimPrefix(test, pkg+" ")))
	}
	r.failed[pkg] = true
	for i, c := range test {
		if c == '/' && i > len(pkg) {
			r.failed[test[:i]] = true
		}
	}
}

// again returns the command that runs a test alone.
func (r *report) again(pkg, test string) string {
	dir := "./" + strings.TrimPrefix(strings.TrimPrefix(pkg, strings.TrimSuffix(modulePath, "/")), "/")
	flag, pattern := "-run=", "^"+strings.ReplaceAll(test, "/", "$/^")+"$"
	if strings.HasPrefix(test, "Benchmark") {
		flag = "-run=^$ -benchtime=1x -bench="
	}
	if r.kernel == "" {
		return fmt.Sprintf("#   alone: go test %s %s'%s'", dir, flag, pattern)
	}
	return fmt.Sprintf("#   alone: make vm-test KERNEL=%s PKG=%s RUN='%s'", r.kernel, dir, strings.ReplaceAll(flag+pattern, "$", "$$")) // for make
}

// noise is what the testing package prints about tests, and what testify repeats.
var noise = regexp.MustCompile(`^\s*(=== |--- |Error Trace:|Test:|/|$)`)

// reason returns the lines of a test's output that say best why it failed, at most six.
func reason(output string) (text string) {
	if i := strings.LastIndex(output, "   FAIL: "); i >= 0 { // a script prints all that it does before
		output = output[i:]
	}
	lines := 0
	for line := range strings.Lines(output) {
		if lines < 6 && !noise.MatchString(line) {
			text += "\n#   " + strings.TrimSpace(line)
			lines++
		}
	}
	return text
}

// usualOutput is what a test binary prints though all is well: before its benchmarks, and at its end.
var usualOutput = regexp.MustCompile(`^(goos: |goarch: |pkg: |cpu: |PASS\n)`)

// logLine is what a test logs, with its place.
var logLine = regexp.MustCompile(`(?m)^ +[^ ]+\.go:\d+: (.*)$`)

// skip counts a skipped test and returns the reason, or reports that it has none that counts.
func (r *report) skip(test string) (reason string) {
	reason = "no reason"
	for _, log := range logLine.FindAllStringSubmatch(r.output[test], -1) {
		reason = log[1]
		// A cleanup may log after the skip.
		if slices.ContainsFunc(r.allowed, func(prefix string) bool { return strings.HasPrefix(reason, prefix) }) {
			r.skips[reason]++
			return reason
		}
	}
	r.addProblem("%s skipped (%s): here, a reason begins with %q", test, reason, r.allowed)
	return reason
}

// checkMinimum compares with the file that says how many kernel tests have to run.
func (r *report) checkMinimum(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var kernel string
		var least int
		if n, _ := fmt.Sscan(line, &kernel, &least); n == 2 && kernel == r.kernel {
			if r.onKernel < least {
				r.problem("%d kernel tests ran, %s wants at least %d: look for tests that are gone or do not reach kerneltest.Require any more",
					r.onKernel, file, least)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no number for kernel %s", file, r.kernel)
}

// modulePath begins the paths of all packages.
const modulePath = "github.com/userevents/userevents-go/"

// checkProofs compares with the document that names tests for this kernel. Packages can run in steps of their own.
func (r *report) checkProofs(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	proofs, err := doctest.Proofs(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range proofs {
		if p.RunsOn(r.kernel) && r.ran[modulePath+p.Package] && !r.names[modulePath+p.Package+" "+p.Test] {
			r.problem("%s:%d: %s did not run and pass here", file, p.Line, p)
		}
	}
	return nil
}

// verdict prints how it went, and adds that to the file that $USEREVENTS_SUMMARY names.
func (r *report) verdict(elapsed time.Duration) error {
	switch {
	case r.passed == 0:
		r.problem("no test ran")
	case r.asHost && r.onKernel > 0:
		r.problem("%d kernel tests ran on what they take for a host", r.onKernel)
	case r.asHost && !slices.ContainsFunc(slices.Collect(maps.Keys(r.skips)), func(reason string) bool { return strings.HasPrefix(reason, onlyGuest) }):
		r.problem("no kernel test was there to be skipped")
	case r.kernel != "" && !r.asHost && r.onKernel == 0:
		r.problem("no kernel test ran")
	}
	skipped := 0
	for _, n := range r.skips {
		skipped += n
	}
	var text strings.Builder
	where := r.where()
	if r.asHost {
		where += " as a host"
	}
	fmt.Fprintf(&text, "# %s: %d tests passed, %d of them used the kernel; %d skipped; %.0f s\n",
		where, r.passed, r.onKernel, skipped, elapsed.Seconds())
	for _, reason := range slices.Sorted(maps.Keys(r.skips)) {
		fmt.Fprintf(&text, "#   %4d skipped: %s\n", r.skips[reason], reason)
	}
	for _, p := range r.problems {
		fmt.Fprintf(&text, "# %s: FAIL: %s\n", r.where(), p)
	}
	if _, err := fmt.Fprint(r.out, text.String()); err != nil {
		return err
	}
	if file := os.Getenv("USEREVENTS_SUMMARY"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if _, err := f.WriteString(text.String()); err != nil {
			return err
		}
	}
	if len(r.problems) > 0 {
		return exitStatus(1)
	}
	return nil
}
