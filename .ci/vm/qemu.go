package main

import (
	"fmt"
	"strings"
)

// accel is what executes a guest's instructions.
type accel string

const (
	// accelKVM is the host's processor.
	accelKVM accel = "kvm"
	// accelTCG is QEMU's translator. It works everywhere.
	accelTCG accel = "tcg"
	// accelCount is the translator counting: a guest nanosecond is one
	// instruction, on one processor, whatever else the host does.
	accelCount accel = "icount"
)

// machine is a guest to start.
type machine struct {
	image    string // the kernel
	accel    accel
	cmdline  string // more for the kernel's command line
	init     string // what runs as process 1, in the host's file system
	jobFile  string // also in the host's file system
	initrd   string // archive of a guest that counts, in place of the host's file system
	console  string // file that receives the kernel's console
	socket   string // socket that receives the frames
	terminal bool   // connect the virtio console to this process's terminal
}

// args returns the arguments of qemu-system-x86_64.
func (m machine) args() []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", "2048",
		"-kernel", m.image,
		"-append", m.kernelArgs(),
		"-chardev", "file,id=console,path=" + escape(m.console), "-serial", "chardev:console",
		// Without ioeventfd QEMU does what the guest asks for at once, instead of a little later.
		"-device", "virtio-serial-pci,ioeventfd=off",
		"-chardev", "socket,id=frames,path=" + escape(m.socket),
		"-device", "virtserialport,chardev=frames,name=" + portName,
	}
	if m.accel == accelCount {
		// Time and chance are the same in each run.
		args = append(args, "-initrd", m.initrd, "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1")
	} else {
		args = append(args, "-virtfs", "local,path=/,mount_tag=rootfs,security_model=none,readonly=on,multidevs=remap")
	}
	switch m.accel {
	case accelKVM:
		args = append(args, "-accel", "kvm", "-cpu", "host", "-smp", "2")
	case accelTCG:
		args = append(args, "-accel", "tcg", "-cpu", "max", "-smp", "2")
	case accelCount:
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "max", "-smp", "1")
	}
	if m.terminal {
		// With signal=off the keys that would stop QEMU reach the guest; with
		// mux=on Ctrl-A X stops it.
		args = append(args, "-chardev", "stdio,id=terminal,signal=off,mux=on", "-device", "virtconsole,chardev=terminal")
	}
	return args
}

func (m machine) kernelArgs() string {
	words := []string{
		"console=ttyS0",
		// An oops would leave the guest half alive. A panic ends QEMU, at once (-no-reboot).
		"oops=panic", "panic=-1",
	}
	jobFile := m.jobFile
	if m.accel == accelCount {
		words = append(words, "norandmaps", "rdinit="+initrdInit) // every stack at the same address
		jobFile = initrdJob
	} else {
		words = append(words, "root=rootfs", "rootfstype=9p",
			"rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose", "ro", "init="+m.init)
	}
	if m.cmdline != "" {
		words = append(words, m.cmdline)
	}
	return strings.Join(append(words, "--", "init", jobFile), " ")
}

// escape protects a comma in the value of a QEMU option.
func escape(value string) string { return strings.ReplaceAll(value, ",", ",,") }

// check refuses paths that a kernel command line cannot carry.
func (m machine) check() error {
	for _, path := range []string{m.init, m.jobFile} {
		if strings.ContainsAny(path, " \t\"") {
			return fmt.Errorf("the kernel command line cannot name %q: set TMPDIR to a path without spaces or quotes", path)
		}
	}
	return nil
}
