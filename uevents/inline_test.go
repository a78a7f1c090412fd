package uevents_test

import (
	"os/exec"
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

func TestEnabledInlines(t *testing.T) {
	testscale.HostOnly(t)
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "can inline (*Event).Enabled")
	assert.Contains(t, string(out), "can inline (*Group).Enabled")
}

// TestDisabledIsOneBranch disassembles a caller and counts what it executes before it knows
// that no tool is attached.
func TestDisabledIsOneBranch(t *testing.T) {
	before := testscale.Disassemble(t)
	p, n := newSimulated(t, uevents.ABIEnableAddress).provider(t), 0
	guard(mustRegister(t, p, newName(), nil), &n)
	guardGroup(p.NewGroup(), &n)
	assert.Zero(t, n)
	for _, function := range []string{"guard", "guardGroup"} {
		list := before(`uevents_test\.`+function, 1)
		t.Logf("%s:\n  %s", function, strings.Join(list, "\n  "))
		assert.LessOrEqual(t, len(list), 4, "%s", function)
	}
}
