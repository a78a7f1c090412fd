package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/userevents/userevents-go/internal/testscale"
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
		return l, fmt.Errorf("%w (make unit writes it, or step unit of the same .ci/run)", err)
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
	if s.list != "" { // several kernels run the same binaries, unless another user has made the directory
		kept := filepath.Join(s.root, ".build", fmt.Sprintf("tests-%s-%d", s.machine.goArch(), os.Geteuid()))
		if os.MkdirAll(kept, 0o755) == nil {
			dir = kept
		}
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

// The go command takes the result of a test from its cache unless a file that the test read in its own module, or a variable of the
// environment, has changed. It does not see files of other modules, the sources of programs that the test builds, nor which programs
// and rights the machine has: tests that depend on these read a variable that has the state of them. See package testscale.

// checkoutState identifies the files of the checkout, by name, size and time.
func checkoutState(root string) (string, error) {
	root, err := filepath.EvalSymlinks(root) // WalkDir does not follow it
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && slices.Contains([]string{".git", ".build", "node_modules"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// machineState identifies the user and the rights that tests ask for, the network namespace, which may have no loopback interface, and the programs that the user can run.
func machineState() string {
	h := sha256.New()
	network, _ := os.Readlink("/proc/self/ns/net") // no namespaces, no other network
	fmt.Fprintln(h, os.Geteuid(), testscale.Root(), network)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		names, _ := os.ReadDir(dir) // a directory that cannot be read has no programs
		for _, e := range names {
			fmt.Fprintln(h, e.Name())
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// unusable returns why the kernel does not run here without being built, or "".
func (m *machine) unusable() string {
	if exec.Command(".ci/kernel/build.sh", "-built", m.kernel).Run() != nil {
		return "it is not built. On Debian or Ubuntu, make deps kernels builds it, for the next make test"
	}
	if _, err := m.command(); isUML(m.kernel) && err != nil {
		return err.Error()
	}
	return ""
}

// prepare makes the kernel's image and this program for the guest. It chooses an accelerator if none is.
func (m *machine) prepare() error {
	if _, err := m.command(); (m.accel != "" || isUML(m.kernel)) && err != nil {
		return err
	}
	m.patience = 10 * time.Minute // a guest is up in seconds, but a busy host may run many
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache = filepath.Join(cache, "userevents-go")
	build := exec.Command(".ci/kernel/build.sh", m.kernel)
	build.Stderr = os.Stderr
	image, err := build.Output()
	if err != nil {
		return fmt.Errorf("build kernel %s: %w", m.kernel, err)
	}
	m.image = strings.TrimSpace(string(image))
	if m.init, err = buildInit(cache, m.goArch()); err != nil {
		return err
	}
	switch {
	case isUML(m.kernel) && m.accel != "":
		return fmt.Errorf("kernel %s is a program of the host: no accelerator runs it", m.kernel)
	case isUML(m.kernel), m.accel != "":
	case m.goArch() != runtime.GOARCH:
		m.accel = accelTCG
	default:
		if m.accel, err = chooseAccel("/dev/kvm", cache, func() (string, error) { return tryKVM(*m) }); err != nil {
			return fmt.Errorf("try KVM: %w", err)
		}
	}
	return nil
}

// buildInit returns this program for a processor. It is kept where it is built, so that go build has nothing to do the next
// time.
func buildInit(cache, arch string) (string, error) {
	if arch == runtime.GOARCH {
		return os.Executable()
	}
	file := filepath.Join(cache, "vm-"+arch)
	build := exec.Command("go", "build", "-o", file, "./.ci/vm")
	build.Env, build.Stderr = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+arch), os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build process 1 of the guest: %w", err)
	}
	return file, nil
}

// kvmTrial is how long a guest without work may be silent for KVM to be trusted. With a KVM that works it takes a second.
const kvmTrial = 10 * time.Second

// chooseAccel returns KVM where a trial has shown that it works and the translator elsewhere. There are hosts whose /dev/kvm
// makes a machine that then hangs before its first line. The answer is kept in cache until the host boots again.
func chooseAccel(device, cache string, trial func() (string, error)) (string, error) {
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return accelTCG, nil // absent or not ours: nothing to remember
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	known := filepath.Join(cache, "accel-"+strings.TrimSpace(string(bootID)))
	if answer, err := os.ReadFile(known); err == nil && (string(answer) == accelKVM || string(answer) == accelTCG) {
		return string(answer), nil
	}
	answer, err := trial()
	if err != nil {
		return "", err
	}
	return answer, errors.Join(os.MkdirAll(cache, 0o755), os.WriteFile(known, []byte(answer), 0o644))
}

// tryKVM boots m, without work, under KVM.
func tryKVM(m machine) (string, error) {
	m.accel, m.patience = accelKVM, kvmTrial
	end, err := runOnce(m, job{Args: []string{"/bin/true"}, Dir: "/"}, kvmTrial, os.Stdout)
	if err != nil || end.failure == "" {
		return accelKVM, err
	}
	fmt.Fprintf(os.Stderr, "# KVM does not work here: %s. Guests run under QEMU's translator.\n", end.failure)
	return accelTCG, nil
}
