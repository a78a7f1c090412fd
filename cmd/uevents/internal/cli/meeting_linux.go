package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
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
func (m *meeting) serve(command int, variable string, find func(pid int)) {
	defer m.Close() // programs go on
	for {
		program, err := m.AcceptUnix()
		if err != nil {
			return
		}
		peer, err := peerOf(program)
		if err == nil && (descends(int(peer.Pid), command) || int(peer.Uid) == os.Geteuid() && inherits(fmt.Sprintf("/proc/%d", peer.Pid), variable)) {
			find(int(peer.Pid))
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

// inherits reports whether a process, whose directory in /proc is given, was started with NAME=VALUE in its environment. A daemon of a
// COMMAND, whose parent has ended, was, and so can be any process of its user.
func inherits(process, variable string) bool {
	environment, err := os.ReadFile(process + "/environ")
	return err == nil && slices.Contains(strings.Split(string(environment), "\x00"), variable)
}

// peerOf returns the process at the other end of a connection, and its user.
func peerOf(c *net.UnixConn) (peer *syscall.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	return peer, errors.Join(controlErr, err)
}
