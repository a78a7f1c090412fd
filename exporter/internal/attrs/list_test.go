package attrs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestList: the last value of each key counts, at the position of the first one, for any number of attributes.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var l attrs.List
	for range testscale.Count(2000, 200) {
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

		had := l.All
		l.Reset()
		assert.Empty(t, l.All)
		assert.Zero(t, l.Dropped)
		for _, kv := range had {
			assert.Zero(t, kv, "nothing refers to the values of a record")
		}
	}
}

// TestListTake: taking attributes gives the same list as adding them.
func TestListTake(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	kept := 0
	rounds := testscale.Count(5000, 500)
	for range rounds {
		limits := attrs.Limits{Count: rng.IntN(8) - 1, Length: rng.IntN(4) - 1, Depth: rng.IntN(3) - 1}
		list := make([]attribute.KeyValue, rng.IntN(1+rng.IntN(40)))
		for i := range list {
			key := attribute.Key([]string{"a", "b", "c", "d", "e", "f", ""}[rng.IntN(7)])
			list[i] = []attribute.KeyValue{key.Int(i), key.String("größe"), key.Int(i), key.Slice(attribute.SliceValue(attribute.IntValue(i)))}[rng.IntN(4)]
		}
		before := slices.Clone(list)
		var added, taken attrs.List
		added.AddAll(list, &limits)
		assert.Equal(t, before, list, "they belong to the caller")
		taken.Take(list, &limits)
		assert.Equal(t, append([]attribute.KeyValue{}, added.All...), append([]attribute.KeyValue{}, taken.All...))
		assert.Equal(t, added.Dropped, taken.Dropped)
		if len(list) > 0 && len(taken.All) == len(list) {
			kept++
			continue
		}
		for _, kv := range list[len(taken.All):] {
			assert.Zero(t, kv, "nothing refers to values that were dropped")
		}
	}
	assert.Greater(t, kept, rounds/50)
}

// TestListLimits: the limits apply to all values, including replacements.
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
	list = attrs.LimitedDepth(list, 1)
	assert.Equal(t, []attribute.KeyValue{attribute.Slice("k", attribute.Value{}, attribute.StringValue("größe")), attribute.Int("n", 1)}, list)
}

type failed[T any] struct{ error }

func TestTypeName(t *testing.T) {
	for want, err := range map[string]error{
		"*errors.errorString":           errors.New("x"),
		"syscall.Errno":                 syscall.ENOENT,
		"*fs.PathError":                 &fs.PathError{Op: "open", Path: "x", Err: os.ErrNotExist},
		"context.deadlineExceededError": context.DeadlineExceeded,
		"struct { error }":              struct{ error }{},
		"github.com/userevents/userevents-go/exporter/internal/attrs_test.failed[int]": failed[int]{},
	} {
		assert.Equal(t, want, attrs.TypeName(err))
	}
}
