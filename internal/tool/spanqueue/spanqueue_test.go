package spanqueue

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/record"
)

func key(n byte) Key { return keyIn(1, n) }

func keyIn(pid int32, n byte) Key { return KeyOf(&record.Record{PID: pid, SpanID: [8]byte{n}}) }

// TestQueue: spans leave when they are taken, or the oldest first when there are too many or too large ones.
func TestQueue(t *testing.T) {
	var evicted []string
	q := New(3, 100, func(p *Parts[string]) { evicted = append(evicted, p.Value) })
	assert.False(t, q.Evict())
	assert.Nil(t, q.Next())
	a := q.Add(key(1), "a", 0)
	q.Grow(a, 60)
	q.Add(key(2), "b", 10)
	assert.Same(t, a, q.Get(key(1)))
	assert.Same(t, a, q.Next())
	assert.Nil(t, q.Get(key(3)))
	assert.Nil(t, q.Take(key(3)))
	q.Add(key(3), "c", 0)
	q.Add(key(4), "d", 0)
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
	q.Add(key(5), "e", 100)
	assert.True(t, q.Evict())
	assert.Equal(t, []string{"a", "c", "d", "e"}, evicted)
}

// TestProcesses: the process with the most bytes makes room for all, its oldest span first.
func TestProcesses(t *testing.T) {
	var evicted []Key
	q := New(6, 100, func(p *Parts[int]) { evicted = append(evicted, p.Key) })
	q.Add(keyIn(1, 1), 0, 10)
	for n := range byte(3) {
		q.Add(keyIn(2, n), 0, 20)
	}
	q.Add(keyIn(3, 1), 0, 30)
	assert.Empty(t, evicted, "100 bytes are allowed")
	q.Add(keyIn(3, 2), 0, 1)
	assert.Equal(t, []Key{keyIn(2, 0)}, evicted)
	q.Grow(q.Get(keyIn(3, 2)), 20)
	assert.Equal(t, []Key{keyIn(2, 0), keyIn(3, 1)}, evicted, "it has more than the other now")

	evicted = nil
	for n := range byte(2) {
		q.Add(keyIn(4, n), 0, 0)
	}
	q.Add(keyIn(1, 2), 0, 0)
	assert.Equal(t, []Key{keyIn(2, 1)}, evicted, "six spans are allowed")
	q.Add(keyIn(5, 1), 0, 100)
	assert.NotNil(t, q.Get(keyIn(5, 1)), "it takes all the room")
	_, bytes := q.Size()
	assert.Equal(t, 100, bytes)
}

// TestOf: the spans of a process are found in their order, and can be taken meanwhile.
func TestOf(t *testing.T) {
	q := New(10, 100, func(*Parts[int]) { assert.Fail(t, "there is room for all") })
	for n := range byte(3) {
		q.Add(keyIn(1, n), int(n), 1)
		q.Add(keyIn(2, n), 7, 1)
	}
	var found []int
	for p := range q.Of(1) {
		found = append(found, p.Value)
		q.Take(p.Key)
	}
	assert.Equal(t, []int{0, 1, 2}, found)
	for range q.Of(1) {
		assert.Fail(t, "all were taken")
	}
	for p := range q.Of(2) {
		assert.Equal(t, keyIn(2, 0), p.Key)
		break
	}
	q.Add(keyIn(1, 9), 0, 1)
	spans, bytes := q.Size()
	assert.Equal(t, []int{4, 4}, []int{spans, bytes})
}

// TestRandom: whatever is added and taken, the limits hold, the counts are right, and no process has fewer bytes than one that is evicted.
func TestRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	byProcess := map[int32]int{}
	q := New(20, 1000, func(p *Parts[int]) {
		for _, bytes := range byProcess {
			assert.LessOrEqual(t, bytes, byProcess[p.Key.PID])
		}
		byProcess[p.Key.PID] -= p.Bytes
	})
	for range 100_000 {
		k := keyIn(random.Int32N(10), byte(random.IntN(8)))
		size := random.IntN(100)
		switch p := q.Get(k); {
		case random.IntN(4) == 0:
			if p = q.Take(k); p != nil {
				byProcess[k.PID] -= p.Bytes
			}
		case p == nil:
			q.Add(k, 0, size) // evicts before it counts
			byProcess[k.PID] += size
		default:
			byProcess[k.PID] += size
			q.Grow(p, size)
		}
		all := 0
		for _, bytes := range byProcess {
			all += bytes
		}
		spans, bytes := q.Size()
		if spans > 20 || bytes > 1000 || bytes != all {
			assert.Fail(t, "the limits do not hold", "%d spans, %d bytes of %d", spans, bytes, all)
			return
		}
	}
	for q.Evict() {
	}
	spans, bytes := q.Size()
	assert.Zero(t, spans+bytes+len(q.processes)+len(q.largest))
}
