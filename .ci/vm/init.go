package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// initGuest is process 1 of a guest. It prepares the machine, runs the programs that the host asks for, and tells it how each
// ended, until the host ends the guest. If it fails, the kernel panics on its end, and the host shows the console.
func initGuest(args []string) error {
	if os.Getpid() != 1 || len(args) != 1 {
		return errors.New("init is for the guest's kernel to call")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if err := setUp(s); err != nil {
		return fmt.Errorf("set up the guest: %w", err)
	}
	if s.Shell {
		return shell(s)
	}
	port, err := openPort(s)
	if err != nil {
		return err
	}
	if !s.Counting {
		return serve(s, port)
	}
	if err := answer(s, s.Job, port, runAlone); err != nil {
		return err
	}
	for {
		time.Sleep(time.Hour)
	}
}

// serve runs the programs that the host asks for, one after the other.
func serve(s settings, port *os.File) error {
	// A serial line loses what comes before it is open.
	if _, err := fmt.Fprintf(port, "%s0\n", s.Mark); err != nil {
		return err
	}
	var running atomic.Int64 // the id of the program's process, or 0
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		next := unix.SIGQUIT
		for lines := json.NewDecoder(port); ; {
			var j job
			if lines.Decode(&j) != nil {
				return
			}
			if len(j.Args) > 0 {
				next = unix.SIGQUIT
				jobs <- j
				continue
			}
			// A Go program that gets SIGQUIT prints its goroutines; if that does not end it, the host asks again.
			if pid := running.Load(); pid != 0 {
				_ = unix.Kill(-int(pid), next)
			}
			next = unix.SIGKILL
		}
	}()
	run := func(cmd *exec.Cmd, port *os.File) (status int, err error) {
		cmd.Stdout, cmd.Stderr = port, port
		if err := cmd.Start(); err != nil {
			_, printed := fmt.Fprintln(port, err)
			return 127, printed
		}
		running.Store(int64(cmd.Process.Pid))
		defer running.Store(0)
		return waitFor(cmd.Process.Pid)
	}
	if s.AsHost {
		program := run
		run = func(cmd *exec.Cmd, port *os.File) (int, error) { return asHost(cmd, port, program) }
	}
	for j := range jobs {
		if err := answer(s, j, port, run); err != nil {
			return err
		}
	}
	return errors.New("the host sends no requests any more")
}

// answer runs a program and tells the host how it ended. The next program finds the guest without processes, events and trace
// instances of this one.
func answer(s settings, j job, port *os.File, run func(*exec.Cmd, *os.File) (int, error)) error {
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Dir, cmd.Env = j.Dir, append(j.Env, "PWD="+j.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// This line divides the console log. Without it, only more of the log is shown.
	_ = os.WriteFile("/dev/kmsg", []byte(startMark+"\n"), 0)
	status, err := run(cmd, port)
	if err != nil {
		return err
	}
	tidy()
	_, err = fmt.Fprintf(port, "%s%d\n", s.Mark, status)
	return err
}

// tidy ends all other processes, and removes what they have left in tracefs. What is still in use then belongs to a kernel that
// is about to remove it.
func tidy() {
	_ = unix.Kill(-1, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	instances, _ := filepath.Glob(tracing + "/instances/*") // the pattern is well-formed
	for _, dir := range instances {
		_ = os.Remove(dir)
	}
	_ = os.WriteFile(tracing+"/dynamic_events", nil, 0) // truncating removes all
}

// waitFor waits for the end of a child, and buries whatever orphans it leaves behind.
func waitFor(pid int) (status int, err error) {
	for {
		var ws unix.WaitStatus
		ended, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for process %d: %w", pid, err)
		case ended == pid && ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ended == pid && ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}
