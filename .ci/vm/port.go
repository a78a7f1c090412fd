package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// virtioPort is what a program writes to in a machine: the first port of the first virtio device.
	virtioPort = "/dev/vport0p1"
	// serialLine is what it writes to under a kernel that is a program of the host.
	serialLine = "/dev/ttyS0"
)

// openPort opens the guest's end of the connection to the host, as a blocking file: test binaries expect that of their output.
func openPort(s settings) (*os.File, error) {
	name := virtioPort
	if isUML(s.Kernel) {
		name = serialLine
	}
	fd, err := -1, error(nil)
	for range 500 { // the kernel adds ports a little after it started process 1
		if fd, err = unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
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
