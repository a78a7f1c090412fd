package uevents_test

import (
	"cmp"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// churnRounds is for runs by hand: 10,000 rounds take minutes in a guest without KVM.
var churnRounds = flag.Int("churn", 0, "how often TestOpenRegisterClose opens, registers and closes; 0: 100 times, fewer with -short and in guests")

// holdings is what a process has of the machine.
type holdings struct{ words, pages, mappings, descriptors, threads int }

// TestOpenRegisterClose: a program may open, register 100 events and close as often as it
// likes. Nothing grows.
func TestOpenRegisterClose(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		names := make([]string, 100)
		for i := range names {
			names[i] = newName() // the same in each round: kernels before 6.4 keep every event
		}
		open := func() *uevents.Provider {
			return w.unowned(t)
		}
		round := func() {
			p := open()
			groups := []*uevents.Group{p.NewGroup(), p.NewGroup()}
			events := make([]*uevents.Event, len(names))
			for i, name := range names {
				var err error
				events[i], err = p.Register(tracepoint.Declaration{Name: name}, in(groups[:i%3]...))
				require.NoError(t, err)
			}
			for i, ev := range events {
				if i%2 == 0 { // the others with the provider
					require.NoError(t, ev.Close())
				}
			}
			require.NoError(t, p.Close())
		}
		round()
		rounds := cmp.Or(*churnRounds, testscale.CountConcurrent(100, 20))
		before := hold(t)
		for i := range rounds {
			round()
			if i%100 != 0 {
				continue
			}
			now := hold(t)
			if i%500 == 0 {
				t.Logf("round %d: %+v", i, now) // a guest that prints nothing counts as hung
			}
			require.Equal(t, before.words, now.words, i)
			require.Equal(t, before.pages, now.pages, i)
			require.Equal(t, before.descriptors, now.descriptors, i)
		}
		after := hold(t)
		t.Logf("%d rounds: %+v before, %+v after", rounds, before, after)
		assert.Equal(t, before.words, after.words)
		assert.Equal(t, before.pages, after.pages)
		assert.Equal(t, before.descriptors, after.descriptors)
		// Go starts threads as it needs them, and maps memory for its heap: a few, however many
		// rounds there are.
		assert.LessOrEqual(t, after.threads, before.threads+16)
		assert.LessOrEqual(t, after.mappings, before.mappings+16)
	})
}

// hold returns what this process has now.
func hold(t *testing.T) (h holdings) {
	t.Helper()
	h.words, h.pages = words.Usage()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	h.mappings = strings.Count(string(maps), "\n")
	h.descriptors, h.threads = entries("/proc/self/fd"), entries("/proc/self/task")
	return h
}
