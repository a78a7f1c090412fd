package benchmarks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// declarations returns n events of five fields, with unused names.
func declarations(tb testing.TB, n int) []tracepoint.Declaration {
	plan, err := typed.PlanFor[Five](uniqueName())
	require.NoError(tb, err)
	list := make([]tracepoint.Declaration, n)
	for i := range list {
		list[i] = plan.Declaration()
		list[i].Name = fmt.Sprintf("%s_%d", list[i].Name, i)
	}
	return list
}

// register registers all, and returns them.
func register(tb testing.TB, p *uevents.Provider, list []tracepoint.Declaration) []*uevents.Event {
	events := make([]*uevents.Event, len(list))
	for i, d := range list {
		var err error
		events[i], err = p.Register(d, nil)
		require.NoError(tb, err)
	}
	return events
}

// BenchmarkRegister is the registration of so many events, one after the other.
func BenchmarkRegister(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				list := declarations(b, n)
				p, err := uevents.Open(nil)
				require.NoError(b, err)
				b.StartTimer()
				events := register(b, p, list)
				b.StopTimer()
				require.Len(b, events, n)
				require.NoError(b, p.Close())
				awaitDeletion(b, fs, strings.TrimSuffix(list[0].Name, "0"))
				b.StartTimer()
			}
		})
	}
}

// awaitDeletion waits until the kernel deleted all events whose names begin like this. It does
// so some time after the last program let go of them.
func awaitDeletion(tb testing.TB, fs *tracefs.Dir, prefix string) {
	testscale.Eventually(tb, func() bool {
		status, err := fs.Status()
		require.NoError(tb, err)
		return !slices.ContainsFunc(status.Events, func(e tracefs.EventStatus) bool { return strings.HasPrefix(e.Name, prefix) })
	}, "events %s* are still there", prefix)
}
