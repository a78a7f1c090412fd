package testscale

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The runner of make test sets these variables to the state of the checkout's files, and of the machine's user and programs. The go
// command takes no result of a test from its cache if a variable that the test read has changed.
const (
	EnvCheckout = "USEREVENTS_CHECKOUT"
	EnvMachine  = "USEREVENTS_MACHINE"
)

// UsesCheckout tells the go command that a test depends on files which it cannot see: those of another module, and the sources of
// programs that the test builds.
func UsesCheckout() { _ = os.Getenv(EnvCheckout) }

// NeedRoot skips a test unless it runs as root with the rights to become other users and to make namespaces, which root in a
// container often lacks. A test that is skipped on a machine runs in a guest. The reason begins with "to", as in "to make namespaces".
func NeedRoot(tb testing.TB, reason string) {
	tb.Helper()
	if !root() {
		tb.Skip("needs root: " + reason)
	}
}

// root reports whether this process has the rights of root on the whole machine.
func root() bool {
	_ = os.Getenv(EnvMachine)
	if os.Geteuid() != 0 {
		return false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true // not Linux
	}
	_, text, _ := strings.Cut(string(status), "\nCapEff:")
	text, _, _ = strings.Cut(text, "\n")
	effective, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64) // of the kernel
	users, _ := os.ReadFile("/proc/self/uid_map")                      // a kernel without user namespaces has none
	const setgid, setuid, sysAdmin = 1 << 6, 1 << 7, 1 << 21
	const needed = setgid | setuid | sysAdmin
	return effective&needed == needed && (len(users) == 0 || strings.Contains(string(users), "4294967295"))
}

// NeedProgram returns the path of a program, and skips a test where the program is not installed.
func NeedProgram(tb testing.TB, name string) string {
	tb.Helper()
	_ = os.Getenv(EnvMachine)
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skip("needs " + name + ": not installed")
	}
	return path
}

// NeedLoopback skips a test of programs that talk through the network where the loopback interface is down, as in a namespace that
// unshare has just made.
func NeedLoopback(tb testing.TB) {
	tb.Helper()
	_ = os.Getenv(EnvMachine)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Skip("needs loopback: " + err.Error())
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String()) // the kernel allows listening without
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), ": ")
		tb.Skip("needs loopback: " + reason)
	}
	if err := c.Close(); err != nil {
		tb.Fatal(err)
	}
}
