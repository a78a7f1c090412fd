package payload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestTruncationCases: what all adapters promise holds for what they are built of.
func TestTruncationCases(t *testing.T) {
	schema := MustSchema(Truncated, TextField("message"), Attributes)
	for _, limit := range []int{4064, 1024} {
		for _, c := range truncationtest.Cases() {
			t.Run(fmt.Sprintf("%s/%d", c.Name, limit), func(t *testing.T) {
				var b Builder
				b.Begin(schema, nil, limit)
				b.Text(schema.At[1], c.Message)
				w := b.Object()
				writeAttrs(&w, c.Bound)
				writeAttrs(&w, c.Attrs)
				b.EndObject(schema.At[2], &w, attrjson.KeepAll)
				buf, truncated := b.End()

				decoder, err := typed.NewDecoder(schema.Layout.Declaration(), nil)
				require.NoError(t, err)
				r, err := decoder.Decode(buf[Base:])
				require.NoError(t, err)
				message, _ := r.Lookup("message")
				attributes, _ := r.Lookup("attributes")
				got := truncationtest.Record{Message: text.Unescape(string(message.AppendTo(nil))), Truncated: truncated, Size: len(buf) - Base}
				got.Attributes, err = truncationtest.Object(string(attributes.AppendTo(nil)))
				require.NoError(t, err)
				assert.NoError(t, c.Check(limit, &got))
			})
		}
	}
}

func writeAttrs(w *attrjson.Writer, attrs []truncationtest.Attr) {
	for _, a := range attrs {
		w.Key(a.Key)
		if members, ok := a.Value.(truncationtest.Group); ok {
			g := w.Group()
			writeAttrs(w, members)
			w.Close(g)
		} else {
			w.Any(a.Value)
		}
	}
}

// TestTruncationOfDeepValues: a value whose keys and brackets alone are above the limit costs no attribute before it.
func TestTruncationOfDeepValues(t *testing.T) {
	type list struct {
		N    int   `json:"n"`
		Next *list `json:"next"`
	}
	var long *list
	for i := range 500 {
		long = &list{i, long}
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	wide := map[string]any{}
	for i := range 300 {
		wide[fmt.Sprintf("a long key of an object %d", i)] = map[string]any{"name": i}
	}
	schema := MustSchema(Truncated, TextField("message"), Attributes)
	for name, a := range map[string]truncationtest.Attr{
		"list":       {Key: "k", Value: long},
		"cycle":      {Key: "k", Value: cycle},
		"objects":    {Key: "k", Value: wide},
		"large name": {Key: strings.Repeat("k", 5000), Value: truncationtest.Group{{Key: "x", Value: int64(1)}}},
	} {
		var b Builder
		b.Begin(schema, nil, 4064)
		w := b.Object()
		writeAttrs(&w, truncationtest.Survivors())
		writeAttrs(&w, []truncationtest.Attr{a, {Key: "after", Value: int64(1)}})
		b.EndObject(schema.At[2], &w, attrjson.KeepAll)
		buf, truncated := b.End()
		assert.LessOrEqual(t, len(buf)-Base, 4064, name)
		assert.Positive(t, truncated, name)
		decoder, err := typed.NewDecoder(schema.Layout.Declaration(), nil)
		require.NoError(t, err)
		r, err := decoder.Decode(buf[Base:])
		require.NoError(t, err)
		attributes, _ := r.Lookup("attributes")
		got, err := truncationtest.Object(string(attributes.AppendTo(nil)))
		require.NoError(t, err)
		for _, key := range []string{"n", "err", "request_id"} {
			assert.Contains(t, got, key, name)
		}
		if name == "large name" {
			assert.Contains(t, got, "after", name)
		}
	}
}
