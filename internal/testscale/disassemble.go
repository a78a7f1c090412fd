package testscale

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

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
