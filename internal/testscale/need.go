package testscale

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// NeedRoot skips a test unless it runs as root with the rights to become other users and to make namespaces, which root in a
// container often lacks. A test that is skipped on a machine runs in a guest. The reason says what the test needs root for: "to ...".
func NeedRoot(tb testing.TB, reason string) {
	tb.Helper()
	if !root() {
		tb.Skip("needs root: " + reason)
	}
}

// root reports whether this process has the rights of root on the whole machine.
func root() bool {
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
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skip("needs " + name + ": not installed")
	}
	return path
}
