package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kvmTrial is how long a guest without work may take, from power-on to its end,
// for KVM to be trusted. With a KVM that works it takes a second.
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
func tryKVM(ctx context.Context, m machine) (accel, error) {
	dir, err := os.MkdirTemp("", "userevents-kvm-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m.accel = accelKVM
	lim := limits{boot: kvmTrial, total: kvmTrial}
	end, err := boot(ctx, dir, m, job{Kernel: "trial"}, lim, func(frame) error { return nil })
	if err != nil {
		return "", err
	}
	if end.failure != "" {
		fmt.Printf("# KVM does not work here: %s. Guests run under QEMU's translator.\n", end.failure)
		return accelTCG, nil
	}
	return accelKVM, nil
}
