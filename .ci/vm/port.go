package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// portName names the virtio port that a program writes to, in a machine.
	portName = "userevents"
	// serialLine is what it writes to under a kernel that is a program of the host.
	serialLine = "/dev/ttyS0"
)

// openPort opens the guest's end of the connection to the host, as a blocking file: test binaries expect that of their output.
func openPort(s settings) (_ *os.File, err error) {
	name := serialLine
	if !isUML(s.Kernel) {
		if name, err = findPort(); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if name == serialLine { // which is to change no byte
		raw := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B38400}
		raw.Cc[unix.VMIN] = 1
		if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
			return nil, fmt.Errorf("set up %s: %w", name, err)
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// findPort waits for the virtio port: the kernel adds ports a little after it started process 1, and there is no udev to name
// them.
func findPort() (string, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return "", err
		}
		for _, file := range names {
			if name, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(name)) == portName {
				return filepath.Join("/dev", filepath.Base(filepath.Dir(file))), nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "", fmt.Errorf("no virtio port %q appeared", portName)
}

// shell runs the program of a shell on the guest's terminal, and switches the machine off.
func shell(s settings) error {
	name := "/dev/hvc0"
	if isUML(s.Kernel) {
		name = serialLine
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.Job.Args[0], s.Job.Args[1:]...)
	cmd.Dir, cmd.Env = s.Job.Dir, s.Job.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := waitFor(cmd.Process.Pid); err != nil {
		return err
	}
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
