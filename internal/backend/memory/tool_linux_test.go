//go:build !386 && !arm && !mips && !mipsle

package memory

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
)

// silent is a program that listens where a tool did, with the process id that it is told or its own, and accepts no connection.
func silent(a *actor) {
	var name string
	if _, err := fmt.Sscan(os.Getenv(layout.EnvTool), &name); err != nil {
		name = fmt.Sprintf("userevents-%d-x", os.Getpid())
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + name, Net: "unix"})
	check(err)
	a.say("%s", name)
	for a.told() { // until the end of the test
	}
	check(l.Close())
}

// TestToolOfAnother: a program waits for the tool that started it, and for no other process that has taken its name, which any user can do.
func TestToolOfAnother(t *testing.T) {
	goesOn := func(name string) {
		program := startChild(t, childOptions{role: "program", setup: "patient", env: []string{layout.EnvTool + "=" + name}})
		program.ready()
		program.end()
	}
	goesOn("userevents-1-none") // no process listens
	successor := startChild(t, childOptions{role: "silent", env: []string{layout.EnvTool + "=userevents-1-" + t.Name()}})
	goesOn(successor.says()) // of a tool with another process id
	successor.end()
}

// TestToolOfAnotherUser: the tool belongs to root or to the program's user.
func TestToolOfAnotherUser(t *testing.T) {
	testscale.NeedRoot(t, "to become another user")
	other := startChild(t, childOptions{role: "silent", attr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}})
	program := startChild(t, childOptions{role: "program", setup: "patient", env: []string{layout.EnvTool + "=" + other.says()}})
	program.ready()
	program.end()
	other.end()
}

// bePatient makes a wait for a tool a test that hangs.
func bePatient(string) error {
	patience = time.Hour
	return nil
}
