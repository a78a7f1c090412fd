package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kvmTrial is how long a guest without work may take, from power-on to power-off, for KVM to
// be trusted. With a working KVM it takes a second.
const kvmTrial = 10 * time.Second

// chooseAccel returns KVM where a guest has shown that it works and the
// translator elsewhere. There are hosts whose /dev/kvm makes a machine that then hangs
// before its first line. The answer is kept until the host boots again.
func chooseAccel(ctx context.Context, cache, image string) (accel, error) {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return accelTCG, nil // absent or not ours: nothing to remember
	}
	if err := device.Close(); err != nil {
		return "", err
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	known := filepath.Join(cache, "accel-"+strings.TrimSpace(string(bootID)))
	if answer, err := os.ReadFile(known); err == nil {
		return accel(strings.TrimSpace(string(answer))), nil
	}
	answer, err := tryKVM(ctx, image)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return answer, os.WriteFile(known, []byte(answer+"\n"), 0o644)
}

func tryKVM(ctx context.Context, image string) (accel, error) {
	dir, err := os.MkdirTemp("", "userevents-kvm-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	m := machine{image: image, accel: accelKVM, init: self}
	lim := limits{boot: kvmTrial, silence: kvmTrial, total: kvmTrial}
	end, err := boot(ctx, dir, m, job{Kernel: "trial"}, lim, func(frame) error { return nil })
	if err != nil {
		return "", err
	}
	if end.failure != "" {
		fmt.Printf("# KVM does not work here (%s): guests run under QEMU's translator\n", end.failure)
		return accelTCG, nil
	}
	return accelKVM, nil
}
