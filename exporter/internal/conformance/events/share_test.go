package events

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestAdaptersShareAName: under one name, the adapters register different events, and a tool that is attached to an
// event of one of them enables none of another.
func TestAdaptersShareAName(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	opened := make([]adapter, len(adapters))
	owners := map[string]int{} // of events, by name
	for i, a := range adapters {
		opened[i] = a.open(t, p) // which fails the test if there is a conflict
		for _, e := range k.Events() {
			if _, known := owners[e.Declaration.Name]; !known {
				owners[e.Declaration.Name] = i
			}
		}
	}
	written := func() (counts []uint64) {
		for _, a := range opened {
			a.emit()
			counts = append(counts, a.written())
		}
		return counts
	}
	before := written()
	for _, n := range before {
		require.Zero(t, n)
	}
	neverEmitted := regexp.MustCompile(`_metric_(.*histogram|summary)$`)
	for event, owner := range owners {
		tool, err := k.Attach(ueventstest.Ftrace, event)
		require.NoError(t, err)
		after := written()
		tool.Detach()
		for i, a := range adapters {
			wrote := after[i] > before[i]
			assert.Equal(t, i == owner && !neverEmitted.MatchString(event), wrote, "attached to %s: %s (%s) writes", event, a.pkg, a.encoding)
		}
		before = after
	}
}
