package ueventslog_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestManyAttributes: the processor time to find duplicate keys grows with the number of attributes, and not with its
// square.
func TestManyAttributes(t *testing.T) {
	t.Setenv(envCount, "-1")
	own, tool := tracedOwn(t)
	testscale.Linear(t, 500, func(n int) func() {
		tool.Records()
		r := record(log.SeverityInfo, "m")
		for i := range n {
			r.AddAttributes(attribute.Int(strconv.Itoa(i), i))
		}
		return func() { own.Logger("x").Emit(t.Context(), r) }
	})
	require.Len(t, tool.Records(), 1)
	own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1), attribute.Int("a", 2)))
	assert.Equal(t, `{"a":2}`, fields(t, tool)["attributes"], "nothing is left of the records before")
}
