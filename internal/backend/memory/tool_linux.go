//go:build !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

// meetTool lets a tool that started this program attach before the first event is registered. It tells the tool by connecting to
// its socket, and waits until the tool closes the connection, or is gone. Without such a tool it does nothing.
func meetTool() {
	name := os.Getenv(layout.EnvTool)
	if name == "" || sys.Secure() {
		return
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return // a sandbox has no sockets: the tool finds the program as any other one
	}
	defer syscall.Close(fd)
	const patience = 5 * time.Second // with a tool that is stopped
	limit := syscall.NsecToTimeval(int64(patience))
	err = errors.Join(
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit), // also of connect
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit),
		syscall.Connect(fd, &syscall.SockaddrUnix{Name: "@" + name}))
	if err != nil {
		return // the tool has ended
	}
	until := sys.Nanotime() + int64(patience)
	for again := true; again; { // system calls: the clock of a testing/synctest bubble stands still
		_, err := syscall.Read(fd, make([]byte, 1))
		again = errors.Is(err, syscall.EINTR) && sys.Nanotime() < until
	}
}
