package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report follows a guest's tests and judges them.
type report struct {
	out     io.Writer
	results *results
	kernel  string
	failed  []string // packages, and how
	hung    []string // packages, and how
}

func (r *report) frame(f frame, a accel, since time.Duration) error {
	switch f.Kind {
	case frameReady:
		return r.printf("# kernel %s: up after %.1f s (%s)\n", r.kernel, since.Seconds(), a)
	case frameOutput:
		_, err := r.results.Write(f.Data)
		return err
	case frameExit:
		if err := r.results.flush(); err != nil {
			return err
		}
		if f.Failure != "" {
			list := &r.failed
			if f.Hung {
				list = &r.hung
			}
			*list = append(*list, f.Package+": "+f.Failure)
			return r.printf("FAIL\t%s\t%.3fs\t%s\n", f.Package, f.Elapsed.Seconds(), f.Failure)
		}
		return r.printf("ok  \t%s\t%.3fs\n", f.Package, f.Elapsed.Seconds())
	}
	return nil
}

// verdict prints how it went. It returns errFailed unless tests ran, none failed
// or skipped without need, and the kernel stayed well.
func (r *report) verdict(end ending, bench bool, elapsed time.Duration) error {
	if err := r.results.flush(); err != nil {
		return err
	}
	// What the kernel may be to blame for comes with the console log.
	guest := append(complaints(end.console), r.hung...)
	if end.failure != "" {
		guest = append(guest, end.failure)
	}
	ran, what := r.results.passed+r.results.failed, "test"
	if bench {
		ran, what = r.results.benchmarks, "benchmark"
	}
	if ran == 0 {
		guest = append(guest, fmt.Sprintf("no %s ran", what))
	}
	tests := r.failed
	for _, skip := range r.results.badSkips {
		tests = append(tests, fmt.Sprintf("%s: skipped without %q", skip, allowedSkip))
	}

	if len(guest)+len(tests) == 0 {
		if bench {
			return r.printf("# kernel %s: %d benchmarks, %.1f s\n", r.kernel, ran, elapsed.Seconds())
		}
		return r.printf("# kernel %s: %d tests passed, %d not on this kernel, %.1f s\n",
			r.kernel, r.results.passed, r.results.skipped, elapsed.Seconds())
	}
	if err := r.showConsole(end.console, len(guest) > 0); err != nil {
		return err
	}
	for _, problem := range append(guest, tests...) {
		if err := r.printf("# kernel %s: FAIL: %s\n", r.kernel, problem); err != nil {
			return err
		}
	}
	return errFailed
}

// showConsole prints the console log, or what of it is younger than the start of
// the tests.
func (r *report) showConsole(console string, all bool) error {
	if !all {
		console = afterStart(console)
	}
	if strings.TrimSpace(console) == "" {
		return nil
	}
	return r.printf("# kernel %s: console log:\n%s\n# kernel %s: end of console log\n", r.kernel, strings.TrimSpace(console), r.kernel)
}

func (r *report) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(r.out, format, args...); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
