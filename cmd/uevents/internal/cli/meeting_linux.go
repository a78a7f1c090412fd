package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// meeting lets programs with a variable in their environment register events in shared memory only after a tool has attached to them; see
// docs/wire-formats.md.
type meeting struct{ *net.UnixListener }

// newMeeting returns a meeting, and the variable. Programs wait until it is served or closed.
func newMeeting() (m *meeting, variable string, err error) {
	name := fmt.Sprintf("userevents-%d-%s", os.Getpid(), rand.Text())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + name, Net: "unix"})
	if err != nil {
		return nil, "", fmt.Errorf("waiting for programs: %w", err)
	}
	return &meeting{l}, layout.EnvTool + "=" + name, nil
}

// serve calls find with each program that a COMMAND has started, until the meeting is closed. Any user of the machine may connect.
func (m *meeting) serve(command int, find func(pid int)) {
	defer m.Close() // programs go on
	for {
		program, err := m.AcceptUnix()
		if err != nil {
			return
		}
		if pid, err := peerOf(program); err == nil && descends(pid, command) {
			find(pid)
		}
		_ = program.Close()
	}
}

// descends reports whether a process is another one, or was started by it. It does not know one whose parent has ended.
func descends(pid, from int) bool {
	for pid > 1 && pid != from {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		const parent = 1
		fields := append(statFields(string(stat)), "", "")
		if pid, err = strconv.Atoi(fields[parent]); err != nil {
			return false
		}
	}
	return pid == from
}

// peerOf returns the process at the other end of a connection.
func peerOf(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *syscall.Ucred
	controlErr := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(controlErr, err); err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}
