package spanqueue

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/reader"
)

func key(n byte) Key { return KeyOf(&reader.Event{PID: 1, SpanID: [8]byte{n}}) }

// TestQueue: spans leave when they are taken, or the oldest first when there are too many or too large ones.
func TestQueue(t *testing.T) {
	var evicted []string
	q := New(3, 100, func(p *Parts[string]) { evicted = append(evicted, p.Value) })
	assert.False(t, q.Evict())
	assert.Nil(t, q.Oldest())
	a := q.Add(key(1), "a")
	q.Grow(a, 60)
	q.Grow(q.Add(key(2), "b"), 10)
	assert.Same(t, a, q.Get(key(1)))
	assert.Same(t, a, q.Oldest())
	assert.Nil(t, q.Get(key(3)))
	assert.Nil(t, q.Take(key(3)))
	q.Add(key(3), "c")
	q.Add(key(4), "d")
	assert.Equal(t, []string{"a"}, evicted, "there are three others")

	q.Grow(q.Get(key(4)), 90)
	assert.Equal(t, []string{"a"}, evicted, "the others take 100 bytes")
	assert.Equal(t, 10, q.Take(key(2)).Bytes)
	q.Grow(q.Get(key(3)), 10)
	q.Grow(q.Get(key(4)), 11)
	assert.Equal(t, []string{"a", "c", "d"}, evicted, "one is too large alone")
	assert.Nil(t, q.Get(key(4)))
	spans, bytes := q.Size()
	assert.Zero(t, spans+bytes)
	q.Grow(q.Add(key(5), "e"), 100)
	assert.True(t, q.Evict())
	assert.Equal(t, []string{"a", "c", "d", "e"}, evicted)
}
