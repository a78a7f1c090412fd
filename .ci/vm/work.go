package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guestHome is the home directory of tests: empty, so that no configuration of
// whoever owns the host changes what perf or trace-cmd print.
const guestHome = "/run/home"

// errHung says that a test binary had to be stopped.
var errHung = errors.New("hung: printed nothing for too long")

// workGuest does the job inside a guest and reports to the host.
func workGuest(args []string) error {
	if len(args) != 1 {
		return errors.New("work is for init to call")
	}
	j, err := readJob(args[0])
	if err != nil {
		return err
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	host := frameWriter{w: port, mark: j.mark()}
	stop := make(chan byte)
	go func() {
		for buf := make([]byte, 1); ; stop <- buf[0] {
			if _, err := port.Read(buf); err != nil {
				return
			}
		}
	}()
	// This line divides the console log. Without it, only more of the log is shown.
	_ = os.WriteFile("/dev/kmsg", []byte(startMark+"\n"), 0)
	if err := host.send(frame{Kind: frameReady}); err != nil {
		return err
	}
	if j.Shell != nil {
		if err := runShell(j.Shell); err != nil {
			return err
		}
	}
	run := func(cmd *exec.Cmd, turn byte) error { return runTests(cmd, port, stop, turn) }
	var later bytes.Buffer
	if j.Counting {
		// Who knows when the host reads. It gets everything when nothing is left to count.
		host.w = &later
		run = func(cmd *exec.Cmd, turn byte) error { return runAlone(cmd, &later, stop, turn) }
	}
	for i, p := range j.Packages {
		start := time.Now()
		exit := frame{Kind: frameExit, Package: p.ImportPath}
		if err := run(testCommand(p, j), byte(i)); err != nil {
			exit.Failure, exit.Hung = err.Error(), errors.Is(err, errHung)
		}
		exit.Elapsed = time.Since(start)
		if err := host.send(exit); err != nil {
			return err
		}
	}
	if err := host.send(frame{Kind: frameDone}); err != nil {
		return err
	}
	if _, err := later.WriteTo(port); err != nil {
		return fmt.Errorf("send to the host: %w", err)
	}
	// QEMU would drop, at power-off, what the host did not read yet.
	for turn := range stop {
		if turn == byte(len(j.Packages)) {
			break
		}
	}
	return nil
}

// openPort waits for the port: the kernel adds ports a little after it started
// process 1, and there is no udev to name them. The file is a blocking one, as test
// binaries expect of their output.
func openPort() (*os.File, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range names {
			name, err := os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(name)) == portName {
				device := filepath.Join("/dev", filepath.Base(filepath.Dir(file)))
				fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
				if err != nil {
					return nil, fmt.Errorf("open %s: %w", device, err)
				}
				return os.NewFile(uintptr(fd), device), nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no virtio port %q appeared", portName)
}

func testCommand(p testPackage, j job) *exec.Cmd {
	cmd := exec.Command(p.Binary, j.Args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PWD="+p.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// runTests runs one test binary, which prints to out, until it ends or the host
// asks for this turn to stop. The error says how it failed.
func runTests(cmd *exec.Cmd, out *os.File, stop <-chan byte, turn byte) error {
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	return watch(cmd, stop, turn)
}

// watch waits for the end of a test binary that was started, and ends it when the host
// asks for that.
func watch(cmd *exec.Cmd, stop <-chan byte, turn byte) error {
	// Whatever is left of the process group, such as a perf that a failed test
	// did not stop, would disturb the next package.
	defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	// A Go program that gets SIGQUIT prints its goroutines. If that does not
	// end it, the host asks again.
	signal := unix.SIGQUIT
	for {
		select {
		case err := <-done:
			if signal != unix.SIGQUIT {
				err = fmt.Errorf("%w (%w)", errHung, err)
			}
			return err
		case n := <-stop:
			if n == turn {
				_ = unix.Kill(-cmd.Process.Pid, signal)
				signal = unix.SIGKILL
			}
		}
	}
}

// runShell runs bash on the virtio console and waits for its end. What
// bash returns is nobody's business.
func runShell(s *shell) error {
	tty, err := os.OpenFile("/dev/hvc0", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = tty.Close() }()
	if s.Rows > 0 {
		size := &unix.Winsize{Row: s.Rows, Col: s.Cols}
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, size); err != nil {
			return fmt.Errorf("set the size of the terminal: %w", err)
		}
	}
	cmd := exec.Command("bash")
	cmd.Dir = s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
