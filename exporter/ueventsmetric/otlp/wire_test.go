package otlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/testscale"
)

// lengths are those around which a length takes one byte more.
var lengths = []int{0, 1, 1<<7 - 1, 1 << 7, 1<<14 - 1, 1 << 14, 60_000}

// TestMessage: lengths of all sizes, in front of contents that have to move for them.
func TestMessage(t *testing.T) {
	for _, n := range lengths {
		contents := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		w := wire{buf: []byte("before")}
		at := w.message(3)
		w.buf = append(w.buf, contents...)
		w.close(at)
		want := append(binary.AppendUvarint([]byte("before\x1a"), uint64(n)), contents...)
		assert.True(t, bytes.Equal(want, w.buf), n)
	}
}

// TestSize: the size of a request is exact while messages are open, for events of all sizes.
func TestSize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string { // of a length around these, so that one length that grows makes the next one grow
		return string(bytes.Repeat([]byte("x"), max(0, lengths[r.IntN(len(lengths))]+r.IntN(40)-20)))
	}
	for range testscale.Count(2000, 200) {
		x := request{wire: wire{limit: 1 << 20}, metric: &metricdata.Metrics{Name: text(), Description: text(), Unit: text()}, field: 5}
		x.resource, x.scope = []byte(text()), []byte(text())
		x.enter(r.IntN(2) == 0)
		x.text(1, text())
		for depth := range inMetric + 1 {
			size := x.size()
			x.leave(inMetric - depth)
			require.Equal(t, size, x.size())
		}
		require.Len(t, x.buf, x.size())
	}
}

// TestClipped: of what is far too large, no more is written than shows it.
func TestClipped(t *testing.T) {
	const limit = 1000
	n := testscale.Count(1<<20, 1<<15)
	long := string(make([]byte, n))
	numbers := make([]uint64, 1<<20)
	texts := slices.Repeat([]string{"text"}, n)
	many := make([]attribute.KeyValue, 10_000)
	for i := range many {
		many[i] = attribute.Int(fmt.Sprintf("key%d", i), i)
	}
	for name, write := range map[string]func(w *wire){
		"text":     func(w *wire) { w.text(1, long) },
		"bytes":    func(w *wire) { putBytes(w, 1, []byte(long)) },
		"fixed":    func(w *wire) { packed(w, 1, numbers, binary.LittleEndian.AppendUint64) },
		"double":   func(w *wire) { packed(w, 1, make([]float64, n), appendDouble) },
		"variable": func(w *wire) { packed(w, 1, numbers, binary.AppendUvarint) },
		"value":    func(w *wire) { w.value(1, attribute.StringValue(long)) },
		"list":     func(w *wire) { w.value(1, attribute.StringSliceValue(texts)) },
		"map":      func(w *wire) { w.value(1, attribute.MapValue(many...)) },
		"exemplar": func(w *wire) {
			x := &export{request: request{wire: *w}}
			exemplars(x, 5, []metricdata.Exemplar[int64]{{FilteredAttributes: many}})
			*w = x.wire
		},
	} {
		w := wire{limit: limit}
		write(&w)
		assert.True(t, w.full(), name)
		assert.Less(t, cap(w.buf), 4*limit, name)
	}
}

// TestAttributesThatFit: an attribute stays if it fits behind those before it.
func TestAttributesThatFit(t *testing.T) {
	set := attribute.NewSet(
		attribute.String("a", "0123456789"), attribute.String("b", "01234567890123456789"), attribute.Int("c", 1), attribute.String("d", "0123456789"),
	)
	sizes := make([]int, set.Len())
	total := 0
	for i, kv := range set.ToSlice() {
		w := wire{limit: 10_000}
		w.keyValue(7, kv)
		sizes[i] = len(w.buf)
		total += sizes[i]
	}
	keys := func(set *attribute.Set, limit int) (s string) {
		w := wire{buf: []byte("before"), limit: 10_000}
		_, dropped := w.attributes(7, set, limit)
		rest := w.buf[len("before"):]
		assert.LessOrEqual(t, len(rest), max(limit, 0))
		for len(rest) > 0 {
			s += string(rest[4]) // a key of one byte
			rest = rest[2+rest[1]:]
		}
		assert.Equal(t, set.Len()-len(s), dropped)
		return s
	}
	assert.Equal(t, "abcd", keys(&set, total))
	assert.Equal(t, "abc", keys(&set, total-1))
	assert.Equal(t, "abc", keys(&set, total-sizes[3]))
	assert.Equal(t, "ac", keys(&set, sizes[0]+sizes[3]))
	assert.Equal(t, "a", keys(&set, sizes[0]))
	assert.Equal(t, "c", keys(&set, sizes[2]))
	assert.Empty(t, keys(&set, sizes[2]-1))
	assert.Empty(t, keys(&set, -100))
	assert.Empty(t, keys(attribute.EmptySet(), 100))
}

// keyValues decodes messages of the type KeyValue. The value is empty if it is not a text.
func keyValues(t *testing.T, b []byte) (list [][2]string) {
	t.Helper()
	field := func(b *[]byte, tag byte) []byte {
		require.Equal(t, tag, (*b)[0])
		n, size := binary.Uvarint((*b)[1:])
		require.Positive(t, size)
		content := (*b)[1+size:][:n]
		*b = (*b)[1+size+int(n):]
		return content
	}
	for len(b) > 0 {
		message := field(&b, 1<<3|2)
		kv := [2]string{string(field(&message, 1<<3|2))}
		if value := field(&message, 2<<3|2); value[0] == 1<<3|2 {
			kv[1] = string(field(&value, 1<<3|2))
		}
		require.Empty(t, message)
		list = append(list, kv)
	}
	return list
}

// TestAttributesAreCut: the texts of attributes share the space; those of the service are kept before others.
func TestAttributesAreCut(t *testing.T) {
	long := strings.Repeat("ö", 1000)
	set := attribute.NewSet(
		attribute.String("a", long), attribute.Int("b", 1), attribute.String("c", "short"), attribute.String("d", long),
		attribute.String("service.name", "shop"),
	)
	for limit := 50; limit < 4000; limit += 17 {
		w := wire{limit: 10_000}
		truncated, dropped := w.attributes(1, &set, limit)
		require.LessOrEqual(t, len(w.buf), limit)
		list := keyValues(t, w.buf)
		require.Len(t, list, 5-dropped)
		assert.Equal(t, [2]string{"service.name", "shop"}, list[0])
		cut := 0
		for _, kv := range list {
			if text, ok := strings.CutSuffix(kv[1], "..."); ok {
				cut++
				assert.True(t, strings.HasPrefix(long, text))
				assert.Greater(t, len(text), 64-5)
				assert.Greater(t, len(w.buf), limit-30)
			}
		}
		assert.Equal(t, dropped+cut, truncated)
		if limit > 2*64+100 {
			assert.Zero(t, dropped)
			assert.Equal(t, 2, cut)
		}
	}
}
