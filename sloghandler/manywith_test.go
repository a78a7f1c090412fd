package sloghandler_test

import (
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestManyWith: a logger made by n calls of With takes memory in proportion to n, the first record included, and a
// record none. The attributes that no record can hold count as truncated.
func TestManyWith(t *testing.T) {
	testscale.HostOnly(t)
	for name, o := range map[string]sloghandler.Options{
		"plain": {}, "unique keys": {UniqueKeys: true}, "replaced": {ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return a }},
	} {
		t.Run(name, func(t *testing.T) {
			h, tr := attached(t, o)
			allocated := func(n int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				log := slog.New(h)
				for i := range n {
					log = log.With("key"+strconv.Itoa(i), i)
				}
				log.Info("m")
				runtime.ReadMemStats(&after)
				r := readRecord(t, tr.Records()[0])
				require.Equal(t, n, len(r.attributes)+r.truncated)
				require.Equal(t, "key0", r.attributes[0].key)
				assert.Greater(t, len(r.attributes), 200)
				return after.TotalAlloc - before.TotalAlloc
			}
			n := 10_000
			allocated(n)
			some := allocated(n)
			assert.Less(t, allocated(4*n), 5*some)
		})
	}
}

// TestManyWithGroup: a group in each of n groups takes memory in proportion to n.
func TestManyWithGroup(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		log := slog.New(h)
		for range n {
			log = log.WithGroup("g")
		}
		log.Info("m", "k", 1)
		runtime.ReadMemStats(&after)
		require.Len(t, tr.Records(), 1)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(10_000)
	some := allocated(10_000)
	assert.Less(t, allocated(40_000), 5*some)
}
