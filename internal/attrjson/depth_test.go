package attrjson_test

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
)

type node struct {
	Next   *node `json:",omitempty"`
	Parent *node `json:"-"`
}

// TestDeepValues: the stack does not grow with the number of levels that a value has. Above its limit, the runtime ends
// the program.
func TestDeepValues(t *testing.T) {
	testscale.HostOnly(t)
	const levels = 300_000 // the default limit of the stack needs more
	var list, m, mixed any = 1, 1, nil
	var linked *node
	group := slog.IntValue(1)
	for range levels {
		inner := mixed
		list, m, mixed = []any{list}, map[string]any{"k": m}, []*any{&inner}
		linked = &node{Next: linked}
		group = slog.GroupValue(slog.Attr{Key: "k", Value: group})
	}
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20)) // instead of 1 GB
	for _, v := range []slog.Value{slog.AnyValue(list), slog.AnyValue(m), group} {
		_, dropped := encode(attrjson.NoLimit, slog.Attr{Key: "k", Value: v})
		assert.Equal(t, 1, dropped)
	}
	for _, v := range []any{linked, mixed} {
		got, _ := encode(attrjson.NoLimit, slog.Any("k", v), slog.Int("after", 1))
		assert.Equal(t, fmt.Sprintf(`{"k":"!ERROR:%T has more than 10000 levels","after":1}`, v), got)
	}
}

// TestFieldsNotWritten: fields that encoding/json does not write have no levels.
func TestFieldsNotWritten(t *testing.T) {
	n := &node{Next: &node{}}
	n.Parent, n.Next.Parent = n, n
	got, _ := encode(attrjson.NoLimit, slog.Any("k", n))
	assert.Equal(t, `{"k":{"Next":{}}}`, got)
}
