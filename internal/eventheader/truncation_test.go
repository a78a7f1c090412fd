package eventheader_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// TestTruncation: an event that is too large is cut by the rule of all encodings.
func TestTruncation(t *testing.T) {
	var e eventheader.Encoder
	for _, limit := range []int{4064, 1024} {
		for _, c := range truncationtest.Cases() {
			t.Run(fmt.Sprintf("%s/%d", c.Name, limit), func(t *testing.T) {
				e.Begin(nil, &eventheader.Header{Name: "e", Level: eventheader.LevelInfo}, limit)
				e.String("message", c.Message)
				e.BeginStruct("attributes")
				addAttrs(&e, c.Bound)
				addAttrs(&e, c.Attrs)
				e.EndStruct()
				payload, err := e.End()
				require.NoError(t, err)
				ev, err := eventheader.Decode("p_L4K1", payload)
				require.NoError(t, err)
				fields, err := truncationtest.Fields(ev)
				require.NoError(t, err)
				r := truncationtest.Record{Message: fields["message"].(string), Truncated: e.Lost(), Size: len(payload), EventHeader: true}
				r.Attributes, _ = fields["attributes"].(map[string]any)
				assert.NoError(t, c.Check(limit, &r))
			})
		}
	}
}

func addAttrs(e *eventheader.Encoder, attrs []truncationtest.Attr) {
	for _, a := range attrs {
		switch v := a.Value.(type) {
		case int64:
			e.Int64(a.Key, v)
		case []string:
			e.Strings(a.Key, v)
		case truncationtest.Group:
			e.BeginStruct(a.Key)
			addAttrs(e, v)
			e.EndStruct()
		default:
			e.String(a.Key, fmt.Sprint(v))
		}
	}
}
