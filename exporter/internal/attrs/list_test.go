package attrs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// TestList: the last value of each key, where the first one was, whatever the number of attributes is.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var l attrs.List
	for range 2000 {
		limits := attrs.Limits{Count: rng.IntN(60) - 1, Length: -1, Depth: -1}
		keys := 1 + rng.IntN(60)
		var want []attribute.KeyValue
		dropped := 0
		for i := range rng.IntN(200) {
			kv := attribute.Int(fmt.Sprint("k", rng.IntN(keys)), i)
			at := slices.IndexFunc(want, func(other attribute.KeyValue) bool { return other.Key == kv.Key })
			switch {
			case at >= 0:
				want[at] = kv
			case limits.Count >= 0 && len(want) == limits.Count:
				dropped++
			default:
				want = append(want, kv)
			}
			l.Add(&kv, &limits)
		}
		assert.Equal(t, want, append([]attribute.KeyValue(nil), l.All...))
		assert.Equal(t, dropped, l.Dropped)
		assert.Equal(t, limits.Count >= 0 && len(want) == limits.Count, l.Full(&limits))

		had := l.All
		l.Reset()
		assert.Empty(t, l.All)
		assert.Zero(t, l.Dropped)
		for _, kv := range had {
			assert.Zero(t, kv, "nothing refers to the values of a record")
		}
	}
}

// TestListInPlace: the attributes may be those that are in the list's own memory.
func TestListInPlace(t *testing.T) {
	room := []attribute.KeyValue{attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("a", 3), attribute.Int("c", 4)}
	l := attrs.List{All: room[:0]}
	for i := range room {
		l.Add(&room[i], &attrs.Limits{Count: -1, Length: -1, Depth: -1})
	}
	assert.Equal(t, []attribute.KeyValue{attribute.Int("a", 3), attribute.Int("b", 2), attribute.Int("c", 4)}, l.All)
}

// TestListLimits: values have the limits, also those that replace others.
func TestListLimits(t *testing.T) {
	limits := attrs.Limits{Count: -1, Length: 3, Depth: 1}
	deep := attribute.Slice("k", attribute.SliceValue(attribute.StringValue("x")), attribute.StringValue("größe"))
	var l attrs.List
	for _, kv := range []attribute.KeyValue{attribute.String("k", "größe"), attribute.String("other", "größe"), deep} {
		l.Add(&kv, &limits)
	}
	assert.Equal(t, []attribute.KeyValue{
		attribute.Slice("k", attribute.Value{}, attribute.StringValue("grö")),
		attribute.String("other", "grö"),
	}, l.All)

	list := []attribute.KeyValue{deep, attribute.Int("n", 1)}
	attrs.LimitDepth(list, 1)
	assert.Equal(t, []attribute.KeyValue{attribute.Slice("k", attribute.Value{}, attribute.StringValue("größe")), attribute.Int("n", 1)}, list)
}
