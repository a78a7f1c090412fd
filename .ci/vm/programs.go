package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a test binary for guests.
type program struct {
	pkg  string // import path
	file string
	args []string
}

// tests are names of tests and benchmarks, by package.
type tests map[string][]string

// add adds a test. A subtest stands for the test that it belongs to.
func (t tests) add(pkg, name string) {
	name, _, _ = strings.Cut(name, "/")
	if !slices.Contains(t[pkg], name) {
		t[pkg] = append(t[pkg], name)
	}
}

// A list has the tests that this machine skipped and a guest can run. It is a JSON file.
type list struct {
	Guest tests // changed the machine
	Root  tests // needed root
}

// on returns the tests of the list that a kernel runs. Tests that need root need no certain kernel: the quickest one runs them.
func (l list) on(kernel string) tests {
	all := maps.Clone(l.Guest)
	if isUML(kernel) {
		for pkg, names := range l.Root {
			all[pkg] = slices.Concat(all[pkg], names)
		}
	}
	return all
}

func readList(file string) (l list, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return l, fmt.Errorf("%w (make unit writes it)", err)
	}
	return l, json.Unmarshal(text, &l)
}

// programs builds the test binaries to run: with a list those of its packages, or of its packages that the arguments name.
func (s *suite) programs() ([]program, error) {
	patterns, flags := splitArgs(s.args)
	if s.list == "" {
		return s.build(patterns, flags...)
	}
	l, err := readList(s.list)
	if err != nil {
		return nil, err
	}
	tests := l.on(s.machine.kernel)
	packages := slices.Sorted(maps.Keys(tests))
	if len(patterns) > 0 {
		named, err := s.packages(patterns)
		if err != nil {
			return nil, err
		}
		packages = slices.DeleteFunc(packages, func(pkg string) bool { return !slices.Contains(named, pkg) })
	}
	if len(packages) == 0 {
		return nil, nil
	}
	programs, err := s.build(packages, flags...)
	for i, p := range programs {
		pattern := "=^(" + strings.Join(tests[p.pkg], "|") + ")$"
		// The caller's flags come last, and override.
		programs[i].args = slices.Concat([]string{"-test.run" + pattern, "-test.bench" + pattern, "-test.benchtime=1x"}, p.args)
	}
	return programs, err
}

// splitArgs separates packages from the flags of their tests.
func splitArgs(args []string) (patterns, flags []string) {
	i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if i < 0 {
		i = len(args)
	}
	return args[:i], args[i:]
}

// packages returns the import paths of the packages that have tests.
func (s *suite) packages(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	out, err := s.goCommand(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "--"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// build builds the test binaries of packages. The go command links only those that have changed.
func (s *suite) build(patterns []string, flags ...string) (programs []program, err error) {
	packages, err := s.packages(patterns)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.machine.dir, "tests")
	if s.list != "" { // several kernels run the same binaries
		dir = filepath.Join(s.root, ".build", "tests", s.machine.goArch())
	}
	for n := 0; len(packages) > 0; n++ {
		// One call builds packages whose last elements differ, since these name the binaries.
		var now, later []string
		for _, pkg := range packages {
			if slices.ContainsFunc(now, func(other string) bool { return path.Base(other) == path.Base(pkg) }) {
				later = append(later, pkg)
			} else {
				now = append(now, pkg)
			}
		}
		packages = later
		to := filepath.Join(dir, fmt.Sprint(n))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return nil, err
		}
		if out, err := s.goCommand(append([]string{"test", "-c", "-ldflags=-w", "-o", to + string(filepath.Separator)}, now...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests: %w\n%s", err, out)
		}
		for _, pkg := range now {
			programs = append(programs, program{
				pkg: pkg, file: filepath.Join(to, path.Base(pkg)+".test"),
				args: append([]string{"-test.paniconexit0", "-test." + testTimeout[1:]}, testFlags(flags)...),
			})
		}
	}
	return programs, nil
}

// goCommand returns a call of the go command for the guest's processor.
func (s *suite) goCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+s.machine.goArch())
	return cmd
}

// testFlags returns flags of go test as a test binary has them, which may have flags of its own.
func testFlags(args []string) (flags []string) {
	testing.Init()
	for _, arg := range args {
		if arg == "-args" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && flag.Lookup("test."+name) != nil {
			arg = "-test." + strings.TrimLeft(arg, "-")
		}
		flags = append(flags, arg)
	}
	return flags
}
