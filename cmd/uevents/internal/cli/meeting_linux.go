package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// meetPrograms lets programs with the variable in their environment register events in shared memory only after find has attached to
// them, until it is closed; see docs/wire-formats.md.
func meetPrograms(find func(pid int)) (meeting io.Closer, variable string, err error) {
	name := fmt.Sprintf("userevents-%d-%s", os.Getpid(), rand.Text())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + name, Net: "unix"})
	if err != nil {
		return nil, "", fmt.Errorf("waiting for programs: %w", err)
	}
	go func() {
		defer l.Close() // programs go on
		for {
			program, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if pid, err := peerOf(program); err == nil {
				find(pid)
			}
			_ = program.Close()
		}
	}()
	return l, layout.EnvTool + "=" + name, nil
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
