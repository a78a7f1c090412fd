package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// selection names the tests that used the kernel, by package. A run on one kernel records it, so that the runs on other
// kernels skip tests that never reach kerneltest.Require: they would repeat the same.
type selection map[string][]string

// add notes a test. A subtest stands for the test that it belongs to.
func (s selection) add(pkg, test string) {
	test, _, _ = strings.Cut(test, "/")
	if !slices.Contains(s[pkg], test) {
		s[pkg] = append(s[pkg], test)
	}
}

// write keeps the selection in a file, a line for each test.
func (s selection) write(file string) error {
	var text strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(s)) {
		for _, test := range slices.Sorted(slices.Values(s[pkg])) {
			fmt.Fprintln(&text, pkg, test)
		}
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}

// readSelection reads what write wrote.
func readSelection(file string) (selection, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	s := selection{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		pkg, test, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not a package and a test", file, lines.Text())
		}
		s.add(pkg, test)
	}
	if len(s) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("%s names no test", file)
	}
	return s, lines.Err()
}

// runs divides the arguments of go test: packages of the selection run their selected tests, the others all of theirs.
func (s selection) runs(packages, flags []string) (runs [][]string) {
	var names, selected, others []string
	for _, pkg := range packages {
		if tests := s[pkg]; len(tests) > 0 {
			selected, names = append(selected, pkg), append(names, tests...)
		} else {
			others = append(others, pkg)
		}
	}
	if len(selected) > 0 {
		slices.Sort(names)
		for i, name := range names {
			names[i] = regexp.QuoteMeta(name)
		}
		run := "-run=^(" + strings.Join(slices.Compact(names), "|") + ")$"
		runs = append(runs, slices.Concat(selected, flags, []string{run}))
	}
	if len(others) > 0 {
		runs = append(runs, slices.Concat(others, flags))
	}
	return runs
}

// listPackages returns the import paths of the packages that patterns match.
func listPackages(dir string, env, patterns []string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list", "--"}, patterns...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
