package ring

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// memory is that of a session's rings.
type memory struct {
	heads [layout.Rings]layout.Head
	tails [layout.Rings]layout.Tail
	data  []byte
}

// newMemory has room for a number of bytes, aligned as mappings are.
func newMemory(size int) *memory {
	words := make([]uint64, size/8)
	return &memory{data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)}
}

// TestWriterEnds: a writer that has room when its session ends keeps the next one from it until it has written. Neither it nor its
// losses get into the next session, whose rings may have another size.
func TestWriterEnds(t *testing.T) {
	m := newMemory(16 << 10)
	first := NewWriter(&m.heads, &m.tails, m.data, 4096, 2, 1<<62)
	room, answer := first.Reserve(1, 64)
	require.Equal(t, Reserved, answer)
	first.End()
	require.False(t, first.Quiet())
	for i := range m.heads {
		assert.Equal(t, i < 2, m.heads[i].Position.Load()&closed != 0, "ring %d", i)
	}
	_, answer = first.Reserve(1, 64)
	require.Equal(t, Ended, answer)
	var lost atomic.Uint64
	require.Zero(t, first.Lose(&lost))
	room.Commit(1, 2, make([]byte, 40))
	require.True(t, first.Quiet())

	last := m.heads[1].Position.Load() &^ closed
	second := NewWriter(&m.heads, &m.tails, m.data, 8192, 2, 1<<61)
	for range 4 {
		_, answer = first.Reserve(1, 64)
		require.Equal(t, Ended, answer)
		require.Zero(t, first.Lose(&lost))
		_, answer = second.Reserve(1, 64)
		require.Equal(t, Reserved, answer)
	}
	assert.Greater(t, m.heads[1].Start, last)
	assert.Zero(t, lost.Load())
}

// TestTails: whatever a tool says that it has read, a writer answers, and stays inside of the ring.
func TestTails(t *testing.T) {
	const size = 4096
	m := newMemory(2 * size)
	guard := m.data[size:]
	w := NewWriter(&m.heads, &m.tails, m.data[:size], size, 1, 1<<62)
	for _, tail := range []uint64{0, 1, size, size + 3, 2 * size, 1 << 40, 1 << 63, math.MaxUint64, math.MaxUint64 - size} {
		for _, need := range []int{0, 1, size/2 - HeaderSize, size / 2, size} {
			for range 300 {
				m.tails[0].Position.Store(tail)
				if room, answer := w.Reserve(0, Size(need)); answer == Reserved {
					room.Commit(0, 0, make([]byte, need))
				}
				head := m.heads[0].Position.Load()
				m.tails[0].Position.Store(head - tail%size)
				if room, answer := w.Reserve(0, Size(need)); answer == Reserved {
					room.Commit(0, 0, make([]byte, need))
				}
			}
		}
	}
	assert.Equal(t, make([]byte, size), guard)
	w.End()
	assert.True(t, w.Quiet())
}

// FuzzReader: whatever a program writes, a reader ends, and returns no more than the ring holds.
func FuzzReader(f *testing.F) {
	const size, key = 4096, 1 << 62
	record := func(position uint64, length uint32) []byte {
		b := binary.NativeEndian.AppendUint64(nil, key+position)
		b = binary.NativeEndian.AppendUint32(b, length)
		b = binary.NativeEndian.AppendUint32(b, 1)
		return append(binary.NativeEndian.AppendUint64(b, 99), make([]byte, (length%size+7)&^7)...)
	}
	f.Add(append(record(0, 8), record(32, 0)...), uint64(0), uint64(56), uint64(0))
	f.Add(append(record(0, 8), record(40, 0)...), uint64(0), uint64(64), uint64(0))
	f.Add(record(0, size), uint64(0), uint64(math.MaxUint64), uint64(0))
	f.Add(record(0, math.MaxUint32), uint64(0), uint64(size), uint64(0))
	f.Add(record(1, 0), uint64(0), uint64(size), uint64(0))
	f.Add(record(size, 5), uint64(size-24), uint64(2*size), uint64(24))
	f.Add([]byte{}, uint64(math.MaxUint64), uint64(0), uint64(8))
	f.Fuzz(func(t *testing.T, content []byte, start, head, at uint64) {
		m := newMemory(3 * size)
		for i := range m.data {
			m.data[i] = 0xa5
		}
		data := m.data[size : 2*size]
		clear(data)
		copy(data[at%size&^7:], content)
		m.heads[0].Start = start
		m.heads[0].Position.Store(head)
		r := NewReader(&m.heads[0], &m.tails[0], data, size, key)
		for range 3 {
			read, skipped := uint64(0), 0
			for again := true; again; again = r.Skip() {
				if skipped++; skipped > size/align+1 {
					t.Fatal("it does not end")
				}
				for b, rec, ok := r.Next(nil); ok; b, rec, ok = r.Next(nil) {
					if read += Size(len(b)); read > size {
						t.Fatalf("%d bytes of a ring of %d", read, size)
					}
					if 8*rec.Callers > len(b) {
						t.Fatalf("%d return addresses in %d bytes", rec.Callers, len(b))
					}
					for _, b := range b {
						if b == 0xa5 && bytes.IndexByte(content, b) < 0 {
							t.Fatal("bytes from outside of the ring")
						}
					}
				}
			}
			if r.Position()-start&^(align-1) > 4*size {
				t.Fatalf("position %d, from %d", r.Position(), start)
			}
			r.Release()
		}
	})
}
