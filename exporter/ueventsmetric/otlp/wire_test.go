package otlp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestAttributesThatFit: the largest go first, the last of equal ones, and no more than must; those of spare size stay.
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
	keys := func(set *attribute.Set, room, spare int) (s string) {
		w := wire{buf: []byte("before"), limit: 10_000}
		dropped := w.attributes(7, set, room, spare)
		rest := w.buf[len("before"):]
		for len(rest) > 0 {
			s += string(rest[4]) // a key of one byte
			rest = rest[2+rest[1]:]
		}
		assert.Equal(t, set.Len()-len(s), dropped)
		return s
	}
	assert.Equal(t, "abcd", keys(&set, total, 0))
	assert.Equal(t, "acd", keys(&set, total-1, 0))
	assert.Equal(t, "acd", keys(&set, total-sizes[1], 0))
	assert.Equal(t, "ac", keys(&set, total-sizes[1]-1, 0))
	assert.Equal(t, "c", keys(&set, sizes[2], 0))
	assert.Empty(t, keys(&set, sizes[2]-1, 0))
	assert.Empty(t, keys(&set, -100, 0))
	assert.Equal(t, "acd", keys(&set, -100, sizes[0]))
	assert.Equal(t, "c", keys(&set, -100, sizes[0]-1))
	assert.Equal(t, "abcd", keys(&set, -100, sizes[1]))
	assert.Empty(t, keys(attribute.EmptySet(), 100, 0))
}
