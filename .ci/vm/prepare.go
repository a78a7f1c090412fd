package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

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
