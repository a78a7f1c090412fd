// Package testscale selects the amount of work of a test: all of it in a plain run, less where instructions are slower.
package testscale

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// EnvVM is set in the guests that run the kernel tests.
const EnvVM = "USEREVENTS_VM"

// Kernel returns the name of the guest's kernel, such as 6.12 or 6.12-arm64, and "" outside of guests.
func Kernel() string { return os.Getenv("USEREVENTS_KERNEL") }

// Guest reports whether the test runs in a guest, and may change it.
func Guest() bool { return os.Getenv(EnvVM) != "" }

// EnvEmulated is set in all guests, also in those that play a host.
const EnvEmulated = "USEREVENTS_EMULATED"

// Emulated reports whether the processor is emulated. Instructions then take about 20 times as long.
func Emulated() bool { return os.Getenv(EnvEmulated) != "" }

// HostOnly skips a test in guests. Use it for tests that involve no kernel and take long, or that need the sources: they
// run on the machine that runs the guests.
func HostOnly(tb testing.TB) {
	tb.Helper()
	if Emulated() {
		tb.Skip("not on this kernel: the test needs none, and runs on the host")
	}
}

// CountAllocations prepares a test that counts allocations. It skips the test under the race detector, which allocates, and stops
// the garbage collector until the test ends: a collection empties pools.
func CountAllocations(tb testing.TB) {
	tb.Helper()
	if Race {
		tb.Skip("not under the race detector: it allocates")
	}
	percent := debug.SetGCPercent(-1)
	tb.Cleanup(func() { debug.SetGCPercent(percent) })
}

// Count returns full, or reduced with -short, with the race detector and in guests, whose processor is emulated. Use it
// for tests that do not involve the kernel: they do the full work on the machine that runs the guests.
func Count(full, reduced int) int {
	if testing.Short() || Race || Emulated() {
		return reduced
	}
	return full
}

// CountConcurrent is Count for tests of concurrency, which do the full work under the race detector too.
func CountConcurrent(full, reduced int) int {
	if testing.Short() || Emulated() {
		return reduced
	}
	return full
}

// Patience guards a test against hanging. No test may fail because a machine is slow, so that no test has a shorter limit.
const Patience = 5 * time.Minute

// Deadline returns the time at which a test that starts to wait now fails.
func Deadline() time.Time { return time.Now().Add(Patience) }

// Wait waits until a condition holds, and reports whether it does within Patience. It is for the programs that tests start;
// tests call Eventually.
func Wait(condition func() bool) bool {
	for end := Deadline(); !condition(); time.Sleep(time.Millisecond) { //nolint:forbidigo // the poll interval
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Eventually waits until a condition holds, and fails the test after Patience. The condition is checked on the caller's
// goroutine, so it may use package require.
func Eventually(tb testing.TB, condition func() bool, format string, args ...any) {
	tb.Helper()
	if !Wait(condition) {
		tb.Fatalf(format, args...)
	}
}

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
// container or a chroot often lacks. A test that is skipped on a machine runs in a guest. The reason begins with "to", as in "to make namespaces".
func NeedRoot(tb testing.TB, reason string) {
	tb.Helper()
	if !Root() {
		tb.Skip("needs root: " + reason)
	}
}

// rootMount matches the mount of / in /proc/self/mountinfo, which a chroot to a directory below it does not have.
var rootMount = regexp.MustCompile(`(?m)^\d+ \d+ \d+:\d+ \S+ / `)

// Root reports whether this process has the rights of root on the whole machine, as NeedRoot asks for.
func Root() bool {
	_ = os.Getenv(EnvMachine)
	if os.Geteuid() != 0 {
		return false
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil && !rootMount.Match(mounts) {
		return false // in a chroot, where the kernel refuses user namespaces
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

// conditionalBranch matches the conditional branches of the architectures that Instructions knows.
var conditionalBranch = map[string]*regexp.Regexp{
	"amd64": regexp.MustCompile(`^J[A-LN-Z][A-Z]*$`), // not JMP
	"arm64": regexp.MustCompile(`^(B[A-Z]{2}|CBN?ZW?|TBN?Z)$`),
}

// Disassemble compiles the tests of the package in the current directory, and returns a function that disassembles functions of
// theirs: it returns the instructions before the conditional branch with a number, from 1 on. function is a regular expression
// for the end of the name. A test is skipped that would look at other code than that of programs.
func Disassemble(tb testing.TB) (before func(function string, branch int) []string) {
	tb.Helper()
	HostOnly(tb)
	branches := conditionalBranch[runtime.GOARCH]
	if Race {
		tb.Skip("not under the race detector: it adds instructions")
	}
	if branches == nil || testing.CoverMode() != "" {
		tb.Skip("reads plain code of amd64 and arm64")
	}
	exe := filepath.Join(tb.TempDir(), "package.test")
	if out, err := exec.Command("go", "test", "-c", "-o", exe, ".").CombinedOutput(); err != nil { // go test's own program has no symbols
		tb.Fatalf("%v: %s", err, out)
	}
	return func(function string, branch int) (list []string) {
		tb.Helper()
		out, err := exec.Command("go", "tool", "objdump", "-s", function+"$", exe).CombinedOutput()
		if err != nil {
			tb.Fatalf("%v: %s", err, out)
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			//   event_test.go:12   0x5a3c20   488b08   MOVQ 0(AX), CX
			columns := strings.Fields(line)
			if len(columns) < 4 || !strings.Contains(columns[0], ".go:") {
				continue
			}
			if branches.MatchString(columns[3]) {
				if branch--; branch == 0 {
					return list
				}
			}
			list = append(list, strings.Join(columns[3:], " "))
		}
		tb.Fatalf("no such branch in:\n%s", out)
		return nil
	}
}

// load matches what reads memory, of amd64 and arm64, with the register that has the address.
var load = regexp.MustCompile(`^(?:MOV|LDAR)\w* \S*\((\w+)\), \w+$`)

// Loads returns how many of the instructions read memory, other than that of the stack and the goroutine.
func Loads(instructions []string) (n int) {
	for _, instruction := range instructions {
		if m := load.FindStringSubmatch(instruction); m != nil && !slices.Contains([]string{"SP", "RSP", "R28"}, m[1]) {
			n++
		}
	}
	return n
}
