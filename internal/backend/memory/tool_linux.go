//go:build !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

// patience is how long a program waits for a tool that is stopped.
var patience = 5 * time.Second

// meetTool lets a tool that started this program attach before the first event is registered. It tells the tool by connecting to
// its socket, and waits until the tool closes the connection, or is gone. Without such a tool it does nothing.
func meetTool() {
	name := os.Getenv(layout.EnvTool)
	if name == "" || sys.Secure() {
		return
	}
	// A listener that accepts nothing makes no call of connect wait.
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return // a sandbox has no sockets: the tool finds the program as any other one
	}
	defer syscall.Close(fd)
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: "@" + name}); err != nil || !isTool(fd, name) {
		return // the tool has ended
	}
	limit := syscall.NsecToTimeval(int64(patience))
	err = errors.Join(syscall.SetNonblock(fd, false), syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit))
	if err != nil {
		return
	}
	until := sys.Nanotime() + int64(patience)
	for again := true; again; { // system calls: the clock of a testing/synctest bubble stands still
		_, err := syscall.Read(fd, make([]byte, 1))
		again = errors.Is(err, syscall.EINTR) && sys.Nanotime() < until
	}
}

// isTool reports whether the process that listens is the tool that has made the name, which has its process id. When that has ended,
// any user can listen there.
func isTool(fd int, name string) bool {
	peer, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return false
	}
	const overflow = 65534 // a user whom this namespace does not have, in user_namespaces(7)
	own := int(peer.Uid) == os.Geteuid()
	if peer.Pid == 0 { // this process is in another PID namespace
		own = own && peer.Uid != overflow
	} else if !strings.HasPrefix(name, fmt.Sprintf("userevents-%d-", peer.Pid)) {
		return false
	}
	return own || peer.Uid == 0
}
