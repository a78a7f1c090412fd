package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// errFailed says that a guest failed. What failed has been printed by then.
var errFailed = errors.New("failed")

// suite is a set of test binaries to run in guests.
type suite struct {
	out      io.Writer
	packages []testPackage
	args     []string // flags of every test binary
	bench    bool
	accel    accel // "": KVM where it works
	cmdline  string
	limits   limits
}

// run runs the suite on one kernel. It returns errFailed, after it printed why,
// when a test or the guest failed.
func (s *suite) run(ctx context.Context, kernel string) error {
	dir, err := os.MkdirTemp("", "userevents-vm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m, err := newMachine(ctx, kernel, s.accel)
	if err != nil {
		return err
	}
	m.cmdline = s.cmdline
	if m.accel == accelCount {
		// This program may need the host's libraries.
		m.init = filepath.Join(dir, "vm")
		if _, err := goCommand(ctx, ".", "build", "-o", m.init, "./.ci/vm"); err != nil {
			return err
		}
	}
	j := job{
		Kernel:   kernel,
		Env:      testEnv(kernel),
		Packages: s.packages,
		Args:     s.args,
		Counting: m.accel == accelCount,
	}
	r := &report{out: s.out, results: newResults(s.out), kernel: kernel}
	start := time.Now()
	end, err := boot(ctx, dir, m, j, s.limits, func(f frame) error { return r.frame(f, m.accel, time.Since(start)) })
	if err != nil {
		return err
	}
	return r.verdict(end, s.bench, time.Since(start))
}

// newMachine returns a machine with the image of kernel, which it builds if need
// be. An empty accel is chosen.
func newMachine(ctx context.Context, kernel string, a accel) (machine, error) {
	build := exec.CommandContext(ctx, filepath.Join(".ci", "kernel", "build.sh"), kernel)
	build.Stderr = os.Stderr
	image, err := build.Output()
	if err != nil {
		return machine{}, fmt.Errorf("build kernel %s: %w (run from the root of the repository)", kernel, err)
	}
	self, err := os.Executable()
	if err != nil {
		return machine{}, err
	}
	m := machine{image: strings.TrimSpace(string(image)), accel: a, init: self}
	if m.accel == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return machine{}, err
		}
		m.accel, err = chooseAccel("/dev/kvm", filepath.Join(cache, "userevents-go"), func() (accel, error) {
			return tryKVM(ctx, m)
		})
		if err != nil {
			return machine{}, fmt.Errorf("try KVM: %w", err)
		}
	}
	return m, nil
}

// testEnv is the whole environment of tests.
func testEnv(kernel string) []string {
	return []string{
		"USEREVENTS_VM=1",
		"USEREVENTS_KERNEL=" + kernel,
		"PATH=" + guestPath(),
		"HOME=" + guestHome,
		"USER=root",
		"LANG=C.UTF-8",
		"TERM=dumb",
	}
}

// guestPath is the host's PATH plus what root has. Ubuntu's perf is a wrapper
// that looks for the running kernel's; the real one comes first.
func guestPath() string {
	dirs, _ := filepath.Glob("/usr/lib/linux-tools/*") // the pattern is well-formed
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return strings.Join(append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin"), string(os.PathListSeparator))
}
