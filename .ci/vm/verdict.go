package main

import (
	"errors"
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

// panics matches the beginning of the line that says why a binary died.
var panics = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// reason returns the lines of a test's output that say best why it failed, at most six.
func reason(output string) (text string) {
	if i := strings.LastIndex(output, "   FAIL: "); i >= 0 { // a script prints all that it does before
		output = output[i:]
	}
	if all := panics.FindAllStringIndex(output, -1); all != nil { // a panic ends the binary, whatever the test has logged
		output = output[all[len(all)-1][0]:]
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
		name := modulePath + p.Package + " " + p.Test
		lacks := r.kernel == "" && p.Needs != "" && r.lacked[name] == p.Needs
		if p.RunsOn(r.kernel) && r.names[modulePath+p.Package] && !r.names[name] && !lacks {
			r.problem("%s:%d: %s did not run and pass here", file, p.Line, p)
		}
	}
	return nil
}

func (r *report) verdict(elapsed time.Duration) error {
	onKernel := r.onKernel + r.brokenOnKernel
	switch {
	case r.passed+r.broken == 0:
		r.problem("no test ran")
	case r.asHost && onKernel > 0:
		r.problem("%d kernel tests ran on what they take for a host", onKernel)
	case r.asHost && !slices.ContainsFunc(slices.Collect(maps.Keys(r.skips)), func(reason string) bool { return strings.HasPrefix(reason, onlyGuest) }):
		r.problem("no kernel test was there to be skipped")
	case r.kernel != "" && !r.asHost && onKernel == 0:
		r.problem("no kernel test ran: none that called kerneltest.Require")
	}
	skipped := 0
	reasons := map[string]int{}
	for reason, n := range r.skips {
		skipped += n
		if r.kernel == "" && onKernel == 0 && strings.HasPrefix(reason, otherKernel) {
			reason = "only on another kind of simulated kernel"
		}
		reasons[reason] += n
	}
	var text, skips strings.Builder
	where := r.where()
	if r.asHost {
		where += " as a host"
	}
	failed := ""
	if r.broken > 0 {
		failed = fmt.Sprintf(", %d failed", r.broken)
	}
	fmt.Fprintf(&text, "# %s: %d tests passed%s, %d of them used the kernel; %d skipped; %.0f s\n",
		where, r.passed, failed, onKernel, skipped, elapsed.Seconds())
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&skips, "#   %4d skipped: %s\n", reasons[reason], reason)
	}
	for _, p := range r.problems {
		fmt.Fprintf(&text, "# %s: FAIL: %s\n", r.where(), p)
	}
	if err := summarize(r.out, text.String(), skips.String()); err != nil {
		return err
	}
	if len(r.problems) > 0 {
		return fmt.Errorf("%s failed", r.where())
	}
	return nil
}

// summarize prints results. If $USEREVENTS_SUMMARY names a file, which the caller prints at its end, they are added to it, and the reasons of skips go there only.
func summarize(out io.Writer, text, skips string) error {
	file := os.Getenv("USEREVENTS_SUMMARY")
	if file == "" {
		_, err := fmt.Fprint(out, text, skips)
		return err
	}
	if _, err := fmt.Fprint(out, text); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + skips)
	return errors.Join(err, f.Close())
}

type ending struct {
	status  int    // of the program
	failure string // why there is no proper status
	console string // what the kernel printed meanwhile
}

// complaint matches what a kernel prints when something in it went wrong.
var complaint = regexp.MustCompile(`Kernel panic|Oops|BUG:|WARNING:|general protection fault|Internal error:|Unable to handle|Out of memory:`)

// expectedComplaint matches the one complaint that tests provoke: perf warns, once,
// about a payload above its buffer, which the size tests must try.
var expectedComplaint = regexp.MustCompile(`WARNING: .*perf_trace_buf_alloc`)

// startMark separates, in the console log, what the kernel said while it booted from what it
// said while programs ran.
const startMark = "userevents-vm: start"

// problems returns what was wrong with the guest rather than with the program.
func (e ending) problems() (list []string) {
	for line := range strings.Lines(e.console) {
		if complaint.MatchString(line) && !expectedComplaint.MatchString(line) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	if e.failure != "" {
		list = append(list, e.failure)
	}
	return list
}

// explain prints what the kernel printed, if anything went wrong.
func (e ending) explain(kernel string, out io.Writer) {
	problems := e.problems()
	if len(problems) == 0 && e.status == 0 {
		return
	}
	console := e.console
	if len(problems) == 0 { // the kernel is hardly to blame
		if _, after, ok := strings.Cut(console, startMark); ok {
			console = after
		}
	}
	if console = strings.TrimSpace(console); console != "" {
		fmt.Fprintf(out, "# kernel %s: console log:\n%s\n# kernel %s: end of console log\n", kernel, console, kernel)
	}
	for _, p := range problems {
		fmt.Fprintf(out, "# kernel %s: FAIL: %s\n", kernel, p)
	}
}
