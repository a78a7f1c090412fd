package logattrs

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// none are the default limits, but for the number of attributes.
var none = attrs.Limits{Count: -1, Length: -1, Depth: attrs.DepthLimit}

// numbers returns attributes with different keys.
func numbers(n int) (list []attribute.KeyValue) {
	for i := range n {
		list = append(list, attribute.Int(strconv.Itoa(i), i))
	}
	return list
}

// TestPlain: attributes stay where they are if the SDK would not change them.
func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		plain  bool
		limits attrs.Limits
		list   []attribute.KeyValue
		err    error
	}{
		"nothing":             {true, none, nil, nil},
		"few":                 {true, none, numbers(few), nil},
		"many":                {false, none, numbers(few + 1), nil},
		"as many as allowed":  {true, attrs.Limits{Count: 2, Length: -1}, numbers(2), nil},
		"too many":            {false, attrs.Limits{Count: 1, Length: -1}, numbers(2), nil},
		"a limit of texts":    {false, attrs.Limits{Count: -1, Length: 0}, numbers(1), nil},
		"an error":            {false, none, numbers(1), errors.New("x")},
		"similar keys":        {true, none, []attribute.KeyValue{attribute.Int("a1c", 1), attribute.Int("a2c", 1), attribute.Int("a3c", 1)}, nil},
		"a key twice":         {false, none, []attribute.KeyValue{attribute.Int("a1c", 1), attribute.Int("a2c", 1), attribute.Int("a1c", 1)}, nil},
		"an empty key":        {false, none, []attribute.KeyValue{attribute.Int("a", 1), attribute.Int("", 1)}, nil},
		"a map":               {false, none, []attribute.KeyValue{attribute.Map("a")}, nil},
		"a list of any types": {false, none, []attribute.KeyValue{{Key: "a", Value: attribute.SliceValue()}}, nil},
		"a list":              {true, none, []attribute.KeyValue{attribute.IntSlice("a", []int{1})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var r log.Record
			r.AddAttributes(c.list...)
			r.SetErr(c.err)
			_, list := Of(&r, &c.limits)
			defer Free(list)
			assert.Equal(t, c.plain, list == nil)
		})
	}
}

// TestWalk: the last value of a key counts, at the position of the first one, and a walk ends when the function says so.
func TestWalk(t *testing.T) {
	var r log.Record
	r.AddAttributes(attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("a", 3), attribute.Int("c", 4))
	for range 2 { // the list of the second one is the first one's
		a, list := Of(&r, &attrs.Limits{Count: 2, Length: -1})
		assert.Equal(t, 1, a.Dropped())
		var got []attribute.KeyValue
		a.Walk(func(kv attribute.KeyValue) bool {
			got = append(got, kv)
			return true
		})
		assert.Equal(t, []attribute.KeyValue{attribute.Int("a", 3), attribute.Int("b", 2)}, got)
		n := 0
		a.Walk(func(attribute.KeyValue) bool {
			n++
			return false
		})
		assert.Equal(t, 1, n)
		Free(list)
	}
	Attributes{}.Walk(func(attribute.KeyValue) bool { panic("of no record") })
	assert.Zero(t, Attributes{}.Dropped())
}
