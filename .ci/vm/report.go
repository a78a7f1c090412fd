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

	output  map[string]string // by running test
	kernels map[string]bool   // running tests that use the kernel

	used             selection // tests that used the kernel
	passed, onKernel int
	names            map[string]bool // of the tests that passed
	skips            map[string]int  // by reason
	problems         []string
}

func newReport(out io.Writer, kernel string, asHost, race, verbose bool) *report {
	r := &report{out: out, kernel: kernel, asHost: asHost, verbose: verbose, output: map[string]string{}, kernels: map[string]bool{}, used: selection{}, names: map[string]bool{}, skips: map[string]int{}}
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
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// event takes a line of go test -json (go doc cmd/test2json).
func (r *report) event(line []byte) error {
	var e struct{ Action, Package, Test, Output, Key string }
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("go test -json said %q: %w", line, err)
	}
	test := e.Package + " " + e.Test
	switch {
	case e.Output != "" && (r.verbose || e.Test == ""):
		if e.Output != "PASS\n" || r.verbose {
			fmt.Fprint(r.out, e.Output)
		}
	}
	if e.Test == "" {
		if e.Action == "fail" { // a binary that died leaves tests without an end
			for _, unfinished := range slices.Sorted(maps.Keys(r.output)) {
				if strings.HasPrefix(unfinished, test) {
					r.show(unfinished)
					r.problem("%s did not end", unfinished)
				}
			}
		}
		return nil
	}
	switch e.Action {
	case "output":
		r.output[test] += e.Output
		return nil
	case "attr":
		if e.Key == kernelAttr {
			r.kernels[test] = true
			r.used.add(e.Package, e.Test)
		}
		return nil
	case "pass":
		r.passed++
		r.names[test] = true
		if r.kernels[test] {
			r.onKernel++
		}
	case "fail":
		r.show(test)
		r.problem("%s failed", test)
	case "skip":
		r.skip(test)
	default:
		return nil
	}
	delete(r.output, test)
	delete(r.kernels, test)
	return nil
}

func (r *report) show(test string) {
	if !r.verbose {
		fmt.Fprint(r.out, r.output[test])
	}
}

var logLine = regexp.MustCompile(`(?m)^ +[^ ]+\.go:\d+: (.*)$`)

func (r *report) skip(test string) {
	reason := "no reason"
	for _, log := range logLine.FindAllStringSubmatch(r.output[test], -1) {
		reason = log[1]
		// A cleanup may log after the skip.
		if slices.ContainsFunc(r.allowed, func(prefix string) bool { return strings.HasPrefix(reason, prefix) }) {
			r.skips[reason]++
			return
		}
	}
	r.problem("%s skipped (%s): here, a reason begins with %q", test, reason, r.allowed)
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

// checkProofs compares with the document that names tests for this kernel.
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
		if p.RunsOn(r.kernel) && !r.names[modulePath+p.Package+" "+p.Test] {
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
