package ueventslog_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestManyAttributes: the processor time to find duplicate keys grows with the number of attributes, and not with its
// square.
func TestManyAttributes(t *testing.T) {
	t.Setenv(envCount, "-1")
	own, tool := tracedOwn(t)
	used := func() time.Duration {
		v, err := sys.ProcessTime(0)
		require.NoError(t, err)
		return v
	}
	least := func(n int) time.Duration {
		r := record(log.SeverityInfo, "m")
		for i := range n {
			r.AddAttributes(attribute.Int(strconv.Itoa(i), i))
		}
		var times []time.Duration
		for range 5 {
			before := used()
			for range 5 {
				own.Logger("x").Emit(t.Context(), r)
			}
			times = append(times, used()-before)
			require.Len(t, tool.Records(), 5)
		}
		return slices.Min(times)
	}
	n := testscale.Count(2_000, 500)
	few, many := least(n), least(8*n)
	assert.Less(t, many, time.Duration(testscale.Count(32, 48))*few, "8 times the attributes took %s instead of %s", many, few)
	own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1), attribute.Int("a", 2)))
	assert.Equal(t, `{"a":2}`, fields(t, tool)["attributes"], "nothing is left of the records before")
}
