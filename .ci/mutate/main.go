// Command mutate changes one operator of a package at a time, runs the package's tests, and reports the changes that no
// test notices.
//
//	go run ./.ci/mutate [-keep FILE] [-only EXPRESSION] [-again FILE] [-skip EXPRESSION] PACKAGE...
//
// It compiles a package once: each operator becomes a function that the number of a mutant in the environment changes. The
// go command reads the changed files in place of the package's, which stay as they are. Each test first runs alone, so
// that a mutant is tried only with those that reach it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

func main() {
	var o options
	flag.StringVar(&o.keep, "keep", "", "write the results into this `file`, in place of those of the same packages")
	flag.StringVar(&o.skip, "skip", "", "leave out tests that match the `expression`: those that measure time")
	flag.StringVar(&o.only, "only", "", "only mutants whose description matches the `expression`")
	flag.StringVar(&o.again, "again", "", "only mutants that lived or were not covered in the results in this `file`; with -keep, the others' results stay")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct{ keep, skip, only, again string }

func run(o options, packages []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	reasons, err := readReasons(".ci/mutate/explained.txt")
	if err != nil {
		return err
	}
	for _, pattern := range packages {
		t, err := load(root, pattern)
		if err != nil {
			return err
		}
		if err := t.test(o); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		text := t.report(reasons)
		fmt.Print(text)
		if o.keep != "" && o.only == "" {
			how, err := about(t.name, o.again != "")
			if err != nil {
				return err
			}
			if err := keep(o.keep, t.name, how, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// test finds the outcomes of all mutants.
func (t *target) test(o options) error {
	work, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	program, err := t.build(work)
	if err != nil {
		return err
	}
	tests, err := t.tests(program, work, o.skip)
	if err != nil {
		return err
	}
	if got := t.try(program, tests, &mutant{}); got != lived {
		return errors.New("the tests fail without a mutant, though each passes alone: -skip leaves some out")
	}
	if err := t.choose(o); err != nil {
		return err
	}
	fmt.Printf("%s: %d tests, %d mutants\n", t.name, len(tests), len(t.mutants))
	queue := make(chan *mutant)
	var workers sync.WaitGroup
	var lock sync.Mutex
	var failed error
	for range runtime.NumCPU() {
		workers.Go(func() {
			for m := range queue {
				err := t.decide(m, program, work, tests)
				lock.Lock()
				failed = errors.Join(failed, err)
				fmt.Printf("%-12s %s\n", m.outcome, m.where())
				lock.Unlock()
			}
		})
	}
	for _, m := range t.mutants {
		queue <- m
	}
	close(queue)
	workers.Wait()
	return failed
}

// decide finds the outcome of a mutant.
func (t *target) decide(m *mutant, program, work string, tests []*test) error {
	if m.own {
		own, err := t.buildOwn(work, m)
		if _, ok := errors.AsType[*buildError](err); ok {
			m.outcome = notViable
			return nil
		} else if err != nil {
			return err
		}
		defer func() { _ = os.Remove(filepath.Clean(own)) }()
		m.outcome = t.try(own, tests, m)
		return nil
	}
	var reaching []*test
	for _, c := range tests {
		if m.hit[c] {
			reaching = append(reaching, c)
		}
	}
	if len(reaching) > 0 {
		m.outcome = t.try(program, reaching, m)
	}
	return nil
}
