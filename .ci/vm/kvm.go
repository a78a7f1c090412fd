package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kvmTrial is how long a guest without work may be silent for KVM to be trusted. With a KVM that
// works it takes a second.
const kvmTrial = 10 * time.Second

// chooseAccel returns KVM where a trial has shown that it works and the
// translator elsewhere. There are hosts whose /dev/kvm makes a machine that then
// hangs before its first line. The answer is kept in cache until the host boots
// again.
func chooseAccel(device, cache string, trial func() (accel, error)) (accel, error) {
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
	if answer, err := os.ReadFile(known); err == nil {
		switch a := accel(answer); a {
		case accelKVM, accelTCG:
			return a, nil
		}
	}
	answer, err := trial()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return answer, os.WriteFile(known, []byte(answer), 0o644)
}

// tryKVM boots m, without work, under KVM.
func tryKVM(m machine) (accel, error) {
	m.accel, m.terminal = accelKVM, false
	end, err := runOnce(m, job{Args: []string{"/bin/true"}, Dir: "/"}, limits{silence: kvmTrial, answer: time.Millisecond}, nil)
	if err != nil || end.failure == "" {
		return accelKVM, err
	}
	fmt.Fprintf(os.Stderr, "# KVM does not work here: %s. Guests run under QEMU's translator.\n", end.failure)
	return accelTCG, nil
}
