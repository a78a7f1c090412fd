package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// onGuests runs test binaries in guests that are kept from one to the next.
func (s *suite) onGuests(r *report) error {
	built, err := os.MkdirTemp("", "userevents-tests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(built) }()
	programs, err := s.programs(built)
	if err != nil {
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	queue := make(chan program)
	go func() {
		defer close(queue)
		for _, p := range programs {
			queue <- p
		}
	}()
	var workers sync.WaitGroup
	for range min(s.guests, len(programs)) {
		workers.Go(func() {
			w := worker{suite: s, root: root, report: r}
			for p := range queue {
				if err := w.run(p); err != nil {
					r.problem("%s: %v", p.Package, err)
				}
			}
			if err := w.drop(); err != nil {
				r.problem("%v", err)
			}
		})
	}
	workers.Wait()
	return nil
}

// programs returns the test binaries to run: those that a run on this machine has kept, or those that it builds now.
func (s *suite) programs(dir string) (list []program, err error) {
	i := slices.IndexFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if i < 0 {
		i = len(s.args)
	}
	patterns, flags := s.args[:i], s.args[i:]
	if s.kept == "" {
		return s.build(dir, s.args)
	}
	if list, err = readKept(s.kept); err != nil {
		return nil, err
	}
	if len(patterns) > 0 {
		packages, err := listPackages(s.dir, patterns)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(p program) bool { return !slices.Contains(packages, p.Package) })
	}
	tests := map[string][]string{}
	var packages []string
	for _, p := range list {
		tests[p.Package], packages = p.Tests, append(packages, p.Package)
	}
	if s.machine.goArch() != runtime.GOARCH {
		if list, err = s.build(dir, packages); err != nil {
			return nil, err
		}
	}
	for i, p := range list {
		var names []string
		for _, name := range tests[p.Package] {
			names = append(names, regexp.QuoteMeta(name))
		}
		pattern := "=^(" + strings.Join(names, "|") + ")$"
		list[i].Args = append(p.Args, "-test.run"+pattern, "-test.bench"+pattern, "-test.benchtime=1x")
		for _, flag := range flags {
			list[i].Args = append(list[i].Args, "-test."+strings.TrimLeft(flag, "-"))
		}
	}
	return list, nil
}

// build builds test binaries without running them. The caller's flags of go test go into their arguments.
func (s *suite) build(dir string, args []string) (list []program, err error) {
	cmd, err := s.wrapped(args, fmt.Sprintf("keep '%s'", dir), "-timeout="+testTimeout)
	if err != nil {
		return nil, err
	}
	if out, err := cmd.Output(); err != nil {
		return nil, fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	return readKept(dir)
}

// listPackages returns the import paths of the packages that patterns match.
func listPackages(dir string, patterns []string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list", "--"}, patterns...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// worker runs one test binary after the other, in the same guest as long as nothing goes wrong in it.
type worker struct {
	suite  *suite
	root   string // of the repository
	report *report
	guest  *guest // nil: not yet booted
}

// run runs a test binary, and reports what it prints as go test -json does.
func (w *worker) run(p program) (err error) {
	m, start := w.suite.machine, time.Now()
	if w.guest == nil {
		if w.guest, err = boot(m, settings{AsHost: w.suite.asHost}); err != nil {
			return err
		}
	}
	convert := exec.Command("go", "tool", "test2json", "-t", "-p", p.Package)
	convert.Stderr = os.Stderr
	in, err := convert.StdinPipe()
	if err != nil {
		return err
	}
	converted := make(chan error, 1)
	go func() { converted <- each(convert, w.report.event) }()

	j := job{Args: slices.Concat([]string{p.file()}, p.Args, []string{"-test.v=test2json"}), Dir: filepath.Join(w.root, p.Dir), Env: testEnv(m)}
	lim := usual
	lim.silence = w.suite.silence
	end, err := w.guest.run(j, in, lim, nil)
	status := end.verdict(m.kernel, in)
	if err = errors.Join(err, in.Close(), <-converted); err != nil || len(end.problems()) > 0 {
		err = errors.Join(err, w.drop())
	}
	w.report.ended(p.Package, status, end.problems(), time.Since(start))
	return err
}

// drop ends the guest, if there is one.
func (w *worker) drop() (err error) {
	if w.guest != nil {
		err = w.guest.close()
	}
	w.guest = nil
	return err
}
