package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// runAlone runs one test binary as the only thing that the guest does, and the same way each
// time, so that its counts of instructions repeat, and those of code that did not change stay
// the same when other code does: what it prints stays in memory, it starts at a time that is
// always the same, nothing in it is random, no other program can interrupt it, and Go's
// monitor thread, which wakes up every 20 microseconds, has to wait for the kernel's tick.
func runAlone(cmd *exec.Cmd, port *os.File) (status int, err error) {
	runtime.LockOSThread() // a child inherits the slack of the thread that starts it, which is also its tracer
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(10*time.Millisecond), 0, 0, 0); err != nil {
		return 0, fmt.Errorf("set the timer slack: %w", err)
	}
	out, err := os.Create("/run/output")
	if err != nil {
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	// Go reads no file for UTC. A goroutine that is stopped between two safe points makes the
	// runtime look things up, which changes what its caches hold.
	cmd.Env = append(cmd.Env, "TZ=UTC", "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr.Ptrace = true
	if err := rest(); err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if err := release(cmd.Process.Pid); err != nil {
		return 0, err
	}
	if status, err = waitFor(cmd.Process.Pid); err != nil {
		return 0, err
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	_, err = io.Copy(port, out)
	return status, err
}

// startTime is the guest's clock at the start of every benchmark, in seconds since 1970: how
// long it takes to format a time depends on its digits.
const startTime = 1767225600 // 2026-01-01

// rest sleeps to a full minute since the boot, and for a minute at least: what the guest still
// has to do since its boot is done by then. It takes no time, as the clock of a guest that
// counts jumps when there is nothing to do.
func rest() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	then := unix.Timespec{Sec: (now.Sec/60 + 2) * 60}
	if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &then, nil); err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	if err := unix.Settimeofday(&unix.Timeval{Sec: startTime}); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	return nil
}

// release lets a program go that was started with SysProcAttr.Ptrace and waits at its first
// instruction, after it made the program repeatable. It has to be called on the thread that
// started the program.
func release(pid int) error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return fmt.Errorf("wait for the start of process %d: %w", pid, err)
	}
	if !status.Stopped() {
		return fmt.Errorf("process %d did not stop at its start: status %#x", pid, uint32(status))
	}
	if err := fixSeed(pid); err != nil {
		return fmt.Errorf("fix the random bytes of process %d: %w", pid, err)
	}
	// Before all that is not real-time: the runner itself, the kernel's threads.
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(pid, &first, 0); err != nil {
		return fmt.Errorf("schedule process %d: %w", pid, err)
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return fmt.Errorf("let process %d go: %w", pid, err)
	}
	return nil
}

// The kernel puts seedLen random bytes on the stack of a new program and says where in entry
// atRandom of the auxiliary vector, getauxval(3).
const (
	seedLen  = 16
	atRandom = 25
)

// fixSeed replaces those bytes. Go's runtime seeds its hashes, and the choices of its scheduler
// and caches, with them.
func fixSeed(pid int) error {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return err
	}
	at, err := auxValue(auxv, atRandom)
	if err != nil {
		return err
	}
	_, err = unix.PtracePokeData(pid, uintptr(at), []byte("userevents bench")[:seedLen])
	return err
}

// auxValue returns the value of a key in an auxiliary vector of 64-bit words.
func auxValue(auxv []byte, key uint64) (uint64, error) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.NativeEndian.Uint64(auxv) == key {
			return binary.NativeEndian.Uint64(auxv[8:]), nil
		}
	}
	return 0, fmt.Errorf("no entry %d in the auxiliary vector", key)
}
