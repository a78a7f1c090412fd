package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// bootLimit is generous: a guest is up in 2 s, but a busy host may run many.
	bootLimit = time.Minute
	// answerLimit is how long a test binary that was asked to stop may stay silent.
	answerLimit = 5 * time.Second
	// offLimit is how long a guest may take to power off.
	offLimit = 20 * time.Second
)

// limits say how long the host waits for a guest.
type limits struct {
	boot    time.Duration // until the guest is up
	silence time.Duration // for output, before a test binary is to stop; 0: for ever
	answer  time.Duration // for output, after that
	total   time.Duration // from start to the end of the work; 0: for ever
}

// ending is how a guest came to its end.
type ending struct {
	bootTime time.Duration // 0: it never came up
	finished bool          // the guest worked to the end of its job
	failure  string        // why it did not, or did not power off
	console  string        // what the kernel printed
}

// boot starts m with job j, hands every frame to handle and waits for the guest's
// end. It keeps its files in dir. The error is about the host; what the guest did
// wrong is in the ending.
func boot(ctx context.Context, dir string, m machine, j job, lim limits, handle func(frame) error) (ending, error) {
	m.jobFile = filepath.Join(dir, "job.json")
	m.initrd = filepath.Join(dir, "initrd")
	m.console = filepath.Join(dir, "console.log")
	m.socket = filepath.Join(dir, "frames.sock")
	if err := m.check(); err != nil {
		return ending{}, err
	}
	j.Nonce = rand.Text()
	write := writeJob
	if m.accel == accelCount {
		write = writeInitrd
	}
	if err := write(m, j); err != nil {
		return ending{}, err
	}
	listener, err := net.Listen("unix", m.socket)
	if err != nil {
		return ending{}, fmt.Errorf("listen for the guest: %w", err)
	}
	defer func() { _ = listener.Close() }()

	running, stop := context.WithCancel(ctx)
	defer stop()
	qemu, messages := qemuCommand(running, m)
	if err := qemu.Start(); err != nil {
		return ending{}, fmt.Errorf("start QEMU: %w (make deps installs it)", err)
	}
	l := link{frames: make(chan frame), stop: make(chan byte, 1)}
	go l.serve(running, listener, j.mark())
	exited := make(chan struct{})
	go func() {
		_ = qemu.Wait() // its exit status says less than the frames and the console
		_ = listener.Close()
		close(exited)
	}()

	end, err := l.follow(lim, handle)
	if end.failure != "" || err != nil {
		stop()
	}
	select {
	case <-exited:
	case <-time.After(offLimit):
		if end.failure == "" {
			end.failure = fmt.Sprintf("the guest did not power off within %v", offLimit)
		}
		stop()
		<-exited
	}
	// Of being stopped by us it speaks too.
	if said := strings.TrimSpace(messages.String()); end.failure != "" && said != "" && !strings.Contains(said, "terminating on signal") {
		end.failure += "; QEMU says: " + said
	}
	if err := errors.Join(ctx.Err(), err); err != nil {
		return end, err
	}
	end.console, err = readConsole(m.console)
	return end, err
}

func writeJob(m machine, j job) error {
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	if err := os.WriteFile(m.jobFile, data, 0o644); err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	return nil
}

func readConsole(file string) (string, error) {
	console, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // QEMU may have failed before it made one
		return "", fmt.Errorf("read the console log: %w", err)
	}
	return string(bytes.ReplaceAll(console, []byte("\r"), nil)), nil
}

func qemuCommand(ctx context.Context, m machine) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", m.args()...)
	messages := new(bytes.Buffer)
	cmd.Stderr = messages
	if m.terminal {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	// QEMU puts the terminal back in order when it is asked to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	// No guest outlives a runner that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, messages
}
