package uevents_test

import (
	"encoding/binary"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
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

// deep grows the stack, which moves it.
func deep(n int) int {
	var frame [512]byte
	if n == 0 {
		return len(frame)
	}
	frame[n%len(frame)] = 1
	return deep(n-1) + int(frame[0])
}

// TestStackMoves: between the enabled check and the write of a buffer on the stack, the stack moves and the garbage is
// collected. Each record arrives with its content.
func TestStackMoves(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		ev := mustRegister(t, w.provider(t), newName()+" u64 n", nil)
		tool := w.attach(t, ueventstest.Ftrace, ev.Name())
		var stop atomic.Bool
		var collecting, writing sync.WaitGroup
		collecting.Go(func() {
			for !stop.Load() {
				runtime.GC() // shrinks stacks
			}
		})
		n := testscale.CountConcurrent(400, 50)
		for i := range n {
			writing.Go(func() {
				var rec [uevents.IndexSize + 8]byte
				binary.NativeEndian.PutUint64(rec[uevents.IndexSize:], uint64(i))
				if assert.True(t, ev.Enabled()) {
					deep(i)
					written, err := ev.WriteRecord(rec[:])
					assert.True(t, written && err == nil, err)
				}
			})
		}
		writing.Wait()
		stop.Store(true)
		collecting.Wait()
		seen := map[uint64]int{}
		for _, payload := range tool.payloads(t) {
			seen[binary.NativeEndian.Uint64(payload)]++
		}
		require.Len(t, seen, n)
		for i, times := range seen {
			assert.Equal(t, 1, times, i)
			assert.Less(t, i, uint64(n))
		}
	})
}
