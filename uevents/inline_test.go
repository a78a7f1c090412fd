package uevents_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// guard is what an instrumented function compiles to while no tool is attached. A leaf, so that
// nothing but the check stands before its first branch.
//
//go:noinline
func guard(e *uevents.Event, n *int) {
	if e.Enabled() {
		*n++
	}
}

//go:noinline
func guardGroup(g *uevents.Group, n *int) {
	if g.Enabled() {
		*n++
	}
}

func needToolchain(t *testing.T) {
	testscale.HostOnly(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("needs the go command")
	}
}

func TestEnabledInlines(t *testing.T) {
	needToolchain(t)
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "can inline (*Event).Enabled")
	assert.Contains(t, string(out), "can inline (*Group).Enabled")
}

// conditionalJump matches the branches of the architectures that the test knows.
var conditionalJump = map[string]*regexp.Regexp{
	"amd64": regexp.MustCompile(`^J[A-Z]+$`),
	"arm64": regexp.MustCompile(`^(B[A-Z]{2}|CBN?ZW?|TBN?Z)$`),
}

// TestDisabledIsOneBranch disassembles a caller and counts what it executes before it knows
// that no tool is attached.
func TestDisabledIsOneBranch(t *testing.T) {
	needToolchain(t)
	if testscale.Race {
		t.Skip("not under the race detector: it adds instructions")
	}
	jump := conditionalJump[runtime.GOARCH]
	if jump == nil || testing.CoverMode() != "" {
		t.Skip("counts plain code of amd64 and arm64")
	}
	p, n := newSimulated(t, uevents.ABIEnableAddress).provider(t), 0
	guard(mustRegister(t, p, newName(), nil), &n)
	guardGroup(p.NewGroup(), &n)
	assert.Zero(t, n)
	exe := filepath.Join(t.TempDir(), "uevents.test")
	out, err := exec.Command("go", "test", "-c", "-o", exe, ".").CombinedOutput() // go test's own binary has no symbols
	require.NoError(t, err, "%s", out)
	for function, most := range map[string]int{"guard": 4, "guardGroup": 4} {
		before := instructionsBefore(t, exe, function, jump)
		t.Logf("%s:\n  %s", function, strings.Join(before, "\n  "))
		assert.LessOrEqual(t, len(before), most, "%s", function)
	}
}

// instructionsBefore returns the instructions of a function before its first conditional
// branch.
func instructionsBefore(t *testing.T, exe, function string, jump *regexp.Regexp) (list []string) {
	out, err := exec.Command("go", "tool", "objdump", "-s", `uevents_test\.`+function+`$`, exe).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.SplitSeq(string(out), "\n") {
		//   event_test.go:12   0x5a3c20   488b08   MOVQ 0(AX), CX
		columns := strings.Fields(line)
		if len(columns) < 4 || !strings.Contains(columns[0], ".go:") {
			continue
		}
		if jump.MatchString(columns[3]) {
			return list
		}
		list = append(list, strings.Join(columns[3:], " "))
	}
	t.Fatalf("no branch in:\n%s", out)
	return nil
}
