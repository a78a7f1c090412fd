package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// bootLimit is generous: a guest is up in 2 s, but a busy host may run many.
	bootLimit = time.Minute
	// quitGrace is how long a silent test binary has to print its goroutines.
	quitGrace = 10 * time.Second
	// offLimit is how long a guest may take to power off.
	offLimit = 20 * time.Second
)

// limits say how long the host waits for a guest.
type limits struct {
	boot    time.Duration // until the guest is up
	silence time.Duration // between two frames; 0: for ever
	total   time.Duration // from start to the end of the work; 0: for ever
}

// ending is how a guest came to its end.
type ending struct {
	bootTime time.Duration // 0: it never came up
	finished bool          // the guest worked to the end of its job
	failure  string        // why it did not, or did not power off
	console  string        // what the kernel printed
}

// boot starts m with job j, hands every frame to handle and waits for the guest's end. It keeps its
// files in dir. The error is about the host; what the guest did wrong is in the ending.
func boot(ctx context.Context, dir string, m machine, j job, lim limits, handle func(frame) error) (ending, error) {
	m.jobFile = filepath.Join(dir, "job.json")
	m.console = filepath.Join(dir, "console.log")
	m.socket = filepath.Join(dir, "frames.sock")
	if err := m.check(); err != nil {
		return ending{}, err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return ending{}, fmt.Errorf("write the job: %w", err)
	}
	if err := os.WriteFile(m.jobFile, data, 0o644); err != nil {
		return ending{}, fmt.Errorf("write the job: %w", err)
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
	frames := make(chan frame)
	go receive(running, listener, frames)
	exited := make(chan struct{})
	go func() {
		_ = qemu.Wait() // its exit status says less than the frames and the console
		_ = listener.Close()
		close(exited)
	}()

	end, err := follow(frames, lim, handle)
	if end.failure != "" || err != nil {
		stop()
	}
	select {
	case <-exited:
	case <-time.After(offLimit):
		end.failure = fmt.Sprintf("the guest did not power off within %v", offLimit)
		stop()
		<-exited
	}
	if end.failure != "" && messages.Len() > 0 {
		end.failure += "; QEMU says: " + string(bytes.TrimSpace(messages.Bytes()))
	}
	if err := errors.Join(ctx.Err(), err); err != nil {
		return end, err
	}
	end.console, err = readConsole(m.console)
	return end, err
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

// receive decodes the frames of the one guest that connects, until it hangs up.
func receive(ctx context.Context, listener net.Listener, frames chan<- frame) {
	defer close(frames)
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	decoder := json.NewDecoder(conn)
	for {
		var f frame
		if decoder.Decode(&f) != nil {
			return // frameDone, or its absence, says whether this is the proper end
		}
		select {
		case frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// follow hands frames over until the guest is done, hangs up or stays silent for too long.
func follow(frames <-chan frame, lim limits, handle func(frame) error) (ending, error) {
	var end ending
	start := time.Now()
	silence := time.NewTimer(lim.boot)
	defer silence.Stop()
	var total <-chan time.Time
	if lim.total > 0 {
		total = time.After(lim.total)
	}
	for {
		select {
		case f, open := <-frames:
			switch {
			case !open:
				end.failure = "the guest stopped before its work was done"
				return end, nil
			case f.Kind == frameDone:
				end.finished = true
				return end, nil
			case f.Kind == frameReady:
				end.bootTime = time.Since(start)
			}
			if err := handle(f); err != nil {
				return end, err
			}
			silence.Stop()
			if lim.silence > 0 {
				silence.Reset(lim.silence)
			}
		case <-silence.C:
			end.failure = fmt.Sprintf("the guest hung: nothing came from it for %v", lim.silence)
			if end.bootTime == 0 {
				end.failure = fmt.Sprintf("the guest did not come up within %v", lim.boot)
			}
			return end, nil
		case <-total:
			end.failure = fmt.Sprintf("the guest was not done after %v", lim.total)
			return end, nil
		}
	}
}
