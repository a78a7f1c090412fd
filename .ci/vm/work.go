package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guestHome is the home directory of tests: empty, so that no configuration of
// whoever owns the host changes what perf or trace-cmd print.
const guestHome = "/run/home"

// workGuest does the job inside a guest and reports over the virtio port.
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
	host := &frameWriter{enc: json.NewEncoder(port)}
	// The console is where the host looks for this line; it cannot fail usefully.
	_ = os.WriteFile("/dev/kmsg", []byte(startMark+"\n"), 0)
	if err := host.send(frame{Kind: frameReady}); err != nil {
		return err
	}
	if j.Shell != nil {
		if err := runShell(j.Shell); err != nil {
			return err
		}
	}
	for _, p := range j.Packages {
		start := time.Now()
		failure := runBinary(p, j, host)
		err := host.send(frame{Kind: frameExit, Package: p.ImportPath, Failure: failure, Elapsed: time.Since(start)})
		if err != nil {
			return err
		}
	}
	return host.send(frame{Kind: frameDone})
}

// openPort waits for the port: the kernel adds ports a little after it started
// process 1, and there is no udev to name them.
func openPort() (*os.File, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range names {
			name, err := os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(name)) == portName {
				return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(file))), os.O_RDWR, 0)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no virtio port %q appeared", portName)
}

// frameWriter sends frames to the host.
type frameWriter struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (w *frameWriter) send(f frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.enc.Encode(f); err != nil {
		return fmt.Errorf("send to the host: %w", err)
	}
	return nil
}

// output turns what a test binary prints into frames, and each time restarts the
// clock that watches for silence, if there is one.
type output struct {
	host    *frameWriter
	watch   *time.Timer
	silence time.Duration
}

func (o *output) Write(p []byte) (int, error) {
	if o.watch != nil {
		o.watch.Reset(o.silence)
	}
	return len(p), o.host.send(frame{Kind: frameOutput, Data: p})
}

// runBinary runs one test binary and says how it failed, or "".
func runBinary(p testPackage, j job, host *frameWriter) string {
	cmd := exec.Command(p.Binary, j.Args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PWD="+p.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	quiet := make(chan struct{}, 1)
	out := &output{host: host, silence: j.Silence}
	if j.Silence > 0 {
		out.watch = time.AfterFunc(j.Silence, func() { quiet <- struct{}{} })
		defer out.watch.Stop()
		// A child that a test forgot may hold the pipe open for ever.
		cmd.WaitDelay = 10 * time.Second
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	var err error
	silent := false
	select {
	case err = <-done:
	case <-quiet:
		silent = true
		// SIGQUIT makes a Go program print its goroutines.
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case err = <-done:
		case <-time.After(quitGrace):
			_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			err = <-done
		}
	}
	// Whatever is left of the process group, such as a perf that a failed test did not stop, would
	// disturb the next package.
	if kill := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); kill != nil && !errors.Is(kill, unix.ESRCH) {
		return fmt.Sprintf("kill the process group: %v", kill)
	}
	switch {
	case silent:
		return fmt.Sprintf("hung: no output for %v (%v)", j.Silence, err)
	case err != nil:
		return err.Error()
	}
	return ""
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
