package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// onGuests runs test binaries in guests that are kept from one to the next.
func (s *suite) onGuests(r *report) error {
	programs, err := s.programs()
	if err != nil {
		return err
	}
	size := func(p program) int64 {
		info, err := os.Stat(p.file)
		if err != nil {
			return 0 // and it cannot run
		}
		return info.Size()
	}
	// Large ones come first: they take the longest.
	slices.SortStableFunc(programs, func(a, b program) int { return cmp.Compare(size(b), size(a)) })
	queue := make(chan program, len(programs))
	for _, p := range programs {
		queue <- p
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(s.guests, len(programs)) {
		workers.Go(func() {
			w := worker{suite: s, report: r}
			for p := range queue {
				w.run(p)
			}
			w.drop()
		})
	}
	workers.Wait()
	return nil
}

// job returns a program as a guest runs it, in the directory of its package.
func (s *suite) job(p program, args ...string) job {
	dir := filepath.Join(s.root, strings.TrimPrefix(p.pkg+"/", modulePath))
	return job{Args: slices.Concat([]string{p.file}, p.args, args), Dir: dir, Env: testEnv(s.machine)}
}

// worker runs one test binary after the other, in the same guest as long as nothing goes wrong in it.
type worker struct {
	suite  *suite
	report *report
	guest  *guest // nil: not yet booted
}

// run runs a test binary, and reports what it prints as go test -json does.
func (w *worker) run(p program) {
	start := time.Now()
	convert := exec.Command("go", "tool", "test2json", "-t", "-p", p.pkg)
	convert.Stderr = os.Stderr
	var end ending
	in, err := convert.StdinPipe()
	if err == nil {
		converted := make(chan error, 1)
		go func() { converted <- w.report.follow(convert) }()
		end, err = w.runIn(p, in)
		err = errors.Join(err, in.Close(), <-converted)
	}
	problems := end.problems()
	if err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		w.drop()
	}
	w.report.ended(p.pkg, end.status, problems, time.Since(start))
}

// runIn runs a test binary in the guest, which it boots if there is none.
func (w *worker) runIn(p program, out io.Writer) (end ending, err error) {
	if w.guest == nil {
		if w.guest, err = boot(w.suite.machine, settings{AsHost: w.suite.asHost}); err != nil {
			return end, err
		}
	}
	end, err = w.guest.run(w.suite.job(p, "-test.v=test2json"), w.suite.silence, out)
	end.explain(w.suite.machine.kernel, out)
	return end, err
}

// drop ends the guest, if there is one.
func (w *worker) drop() {
	if w.guest != nil {
		w.guest.close()
	}
	w.guest = nil
}
