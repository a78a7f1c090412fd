package ueventstrace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// TestSlices: on every track, what begins last ends first.
func TestSlices(t *testing.T) {
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tracer := rig.tracer()
	_, before := tracer.Start(t.Context(), "before")
	tr := rig.attach(t, "app_slice")
	before.End() // its slice never began

	ctx, root := tracer.Start(t.Context(), "root")
	inner, a := tracer.Start(ctx, "a") // inside of root
	_, b := tracer.Start(ctx, "b")     // beside a
	_, c := tracer.Start(inner, "c")   // inside of a
	c.End()
	b.End()
	a.End()
	_, d := tracer.Start(ctx, "d") // after a
	d.End()
	root.End()
	_, other := tracer.Start(t.Context(), "other")
	other.End()

	stacks, order := map[string][]string{}, []string(nil)
	for _, f := range records(t, tr) {
		assert.Equal(t, "shop", f["track_name"])
		assert.Equal(t, "app_slice", f[""])
		track, name := f["scope_track"], f["slice_name"]
		stack := stacks[track]
		switch f["track_event_type"] {
		case "66": // B
			stacks[track] = append(stack, name)
			order = append(order, name)
		case "69": // E
			require.NotEmpty(t, stack)
			assert.Equal(t, name, stack[len(stack)-1], "the innermost ends")
			stacks[track] = stack[:len(stack)-1]
		default:
			assert.Fail(t, "neither begins nor ends", "%v", f)
		}
	}
	assert.Equal(t, []string{"root", "a", "b", "c", "d", "other"}, order)
	assert.Len(t, stacks, 3, "root with a, c and d; b; other")
	for track, stack := range stacks {
		assert.Empty(t, stack, track)
	}
	assert.NotContains(t, newRig(t).Stats(), "app_slice", "opt-in")
}
