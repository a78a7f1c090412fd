package ring

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
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

// model is a ring as docs/wire-formats.md has it.
type model struct {
	head, tail uint64
	records    []modelRecord
}

type modelRecord struct {
	end     uint64
	event   uint32
	time    uint64
	callers []uintptr
	payload []byte
}

// reserve reports whether there is room.
func (m *model) reserve(size, content int) bool {
	need := (24 + content + 7) / 8 * 8
	if need > size/2 {
		return false
	}
	at := m.head
	if left := size - int(at%uint64(size)); left < need {
		at += uint64(left)
	}
	if at+uint64(need) > m.tail+uint64(size) {
		return false
	}
	m.head = at + uint64(need)
	return true
}

// TestRecords: rings return what was written to them, each record once, and are full when they have to be.
func TestRecords(t *testing.T) {
	const size, rings, key = 4096, 4, math.MaxUint64 - 1000 // marks wrap around
	rng := rand.New(rand.NewPCG(1, 2))
	memory := newMemory(rings * size)
	w := NewWriter(&memory.heads, &memory.tails, memory.data, size, rings, key)
	var models [rings]*model
	var readers [rings]*Reader
	for i := range models {
		start := memory.heads[i].Start
		models[i] = &model{head: start, tail: start}
		readers[i] = NewReader(&memory.heads[i], &memory.tails[i], memory.data[i*size:], size, key)
	}
	full, laps := 0, models[0].head/size
	for n := range 50_000 {
		i := rng.IntN(rings)
		m, r := models[i], readers[i]
		if rng.IntN(8) == 0 {
			read(t, m, r, rng.IntN(len(m.records)+2))
			continue
		}
		content := rng.IntN(200)
		if rng.IntN(50) == 0 {
			content = size/2 - 40 + rng.IntN(20) // about the largest
		}
		rec := modelRecord{event: uint32(n) % layout.Events, time: rng.Uint64(), payload: make([]byte, content)}
		if rng.IntN(4) == 0 {
			rec.callers = make([]uintptr, rng.IntN(content/8+1))
			rec.payload = rec.payload[8*len(rec.callers):]
			for i := range rec.callers {
				rec.callers[i] = uintptr(rng.Uint64())
			}
		}
		for i := range rec.payload {
			rec.payload[i] = byte(rng.Uint32())
		}
		room, answer := w.Reserve(i+rings*rng.IntN(3), Size(content))
		if !m.reserve(size, content) {
			require.Equal(t, Full, answer)
			full++
			continue
		}
		require.Equal(t, Reserved, answer)
		rec.end = m.head
		m.records = append(m.records, rec)
		if rec.callers != nil {
			room.CommitCallers(rec.event, rec.time, rec.callers, rec.payload)
		} else {
			room.Commit(rec.event, rec.time, rec.payload)
		}
		require.Equal(t, m.head, r.Head())
		require.Equal(t, m.head, memory.heads[i].Done.Load())
	}
	for i, m := range models {
		read(t, m, readers[i], len(m.records)+1)
	}
	assert.NotZero(t, full)
	assert.Greater(t, models[0].head/size, laps+100)
	w.End()
	assert.True(t, w.Quiet())
}

// read reads up to n records, which are those of the model.
func read(t *testing.T, m *model, r *Reader, n int) {
	t.Helper()
	for ; n > 0; n-- {
		got, rec, ok := r.Next(nil)
		require.False(t, r.Malformed)
		require.Equal(t, len(m.records) > 0, ok)
		if !ok {
			break
		}
		want := m.records[0]
		m.records = m.records[1:]
		require.Equal(t, Record{want.event, want.time, len(want.callers)}, rec)
		for _, pc := range want.callers {
			require.Equal(t, uint64(pc), binary.NativeEndian.Uint64(got))
			got = got[8:]
		}
		require.Equal(t, string(want.payload), string(got))
		require.Equal(t, want.end, r.Position())
	}
	r.Release()
	m.tail = r.Position()
}

// forged is a ring that a hostile program fills as it likes.
type forged struct {
	*memory
	*Reader
}

const (
	forgedSize = 4096
	forgedKey  = 1 << 62
)

func newForged(start uint64) *forged {
	m := newMemory(forgedSize)
	m.heads[0].Start = start
	m.heads[0].Position.Store(math.MaxUint64 &^ closed)
	return &forged{m, NewReader(&m.heads[0], &m.tails[0], m.data, forgedSize, forgedKey)}
}

// put writes a record, or padding.
func (f *forged) put(position, plus uint64, length, callers uint32) {
	at := unsafe.Pointer(&f.memory.data[position%forgedSize])
	mark(at).Store(forgedKey + position + plus)
	if plus == 0 && position%forgedSize < forgedSize-HeaderSize {
		*(*uint32)(unsafe.Add(at, 8)) = length
		*(*uint32)(unsafe.Add(at, 12)) = callers<<callersShift | 5
	}
}

// TestMalformed: a reader takes records up to the end of the lap, and of the room that it has released, and no longer ones.
func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name            string
		before          uint32 // length of a record that was read and released, if it is not 0
		length, callers uint32
		valid           bool
	}{
		{"the whole ring", 0, forgedSize - 24, 0, true},
		{"more than the ring", 0, forgedSize - 23, 0, false},
		{"more than twice the ring", 0, 3 * forgedSize, 0, false},
		{"the largest length", 0, math.MaxUint32, 0, false},
		{"the rest of the lap", 2000, forgedSize - 2024 - 24, 0, true},
		{"more than the lap", 2000, forgedSize - 2024 - 23, 0, false},
		{"return addresses", 0, 16, 2, true},
		{"return addresses that end behind the record", 0, 15, 2, false},
		{"only return addresses", 0, 8 * layout.Callers, layout.Callers, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newForged(8 * forgedSize)
			if c.before != 0 {
				f.put(f.Position(), 0, c.before, 0)
				_, _, ok := f.Next(nil)
				require.True(t, ok)
				f.Release()
			}
			f.put(f.Position(), 0, c.length, c.callers)
			content, rec, ok := f.Next(nil)
			assert.Equal(t, c.valid, ok)
			assert.Equal(t, !c.valid, f.Malformed)
			if ok {
				assert.Len(t, content, int(c.length))
				assert.Equal(t, Record{5, 0, int(c.callers)}, rec)
			}
			f.put(f.Position(), 0, 0, 0)
			_, _, ok = f.Next(nil)
			assert.Equal(t, c.valid && c.length != forgedSize-24, ok, "it reads nothing more")
		})
	}
}

// TestLap: a program that writes behind the reader what was not released gets it to read one lap, and no more.
func TestLap(t *testing.T) {
	const need = 64
	f := newForged(forgedSize)
	lap := func(first uint64) {
		for n := range uint64(forgedSize / need) {
			f.put(first+n*need, 0, need-24, 0)
			_, _, ok := f.Next(nil)
			require.True(t, ok)
		}
		f.put(first+forgedSize, 0, need-24, 0)
		_, _, ok := f.Next(nil)
		require.False(t, ok)
		require.False(t, f.Malformed)
	}
	lap(forgedSize)
	f.Release()
	lap(2 * forgedSize)

	// The end of the lap that was not released is inside of a record.
	for length, valid := range map[uint32]bool{need - 24: true, need - 16: false} {
		f = newForged(forgedSize)
		f.put(forgedSize, 0, need-24, 0)
		_, _, ok := f.Next(nil)
		require.True(t, ok)
		f.Release()
		f.put(forgedSize+need, padding, 0, 0)
		f.put(2*forgedSize, 0, length, 0)
		_, _, ok = f.Next(nil)
		assert.Equal(t, valid, ok)
		assert.Equal(t, !valid, f.Malformed)
	}
}

// TestSkip: behind a record that a program which was killed left incomplete, a reader finds the next one, up to the head and no further.
func TestSkip(t *testing.T) {
	const start = 3 * forgedSize
	for _, c := range []struct {
		name       string
		head, mark uint64 // where the next mark is
		plus       uint64
		found      bool
	}{
		{"the next record", 128, 64, 0, true},
		{"padding", 128, 64, padding, true},
		{"the least record", 72, 8, 0, true},
		{"just before the head", 72, 64, 0, true},
		{"at the head", 64, 64, 0, false},
		{"behind the head", 64, 72, 0, false},
		{"the end of the ring", forgedSize + 64, forgedSize - 8, 0, true},
		{"a lap later", 2 * forgedSize, forgedSize, 0, false},
		{"another mark", 128, 64, 2, false},
		{"nothing", 128, forgedSize, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, first := range []uint64{0, 256} { // what was read before
				f := newForged(start)
				if first != 0 {
					f.put(start, 0, uint32(first-24), 0)
					_, _, ok := f.Next(nil)
					require.True(t, ok)
					f.Release()
				}
				f.heads[0].Position.Store(start + first + c.head | closed)
				f.put(start+first+c.mark, c.plus, 0, 0)
				if c.mark != 0 && c.mark != forgedSize {
					_, _, ok := f.Next(nil)
					require.False(t, ok)
				}
				assert.Equal(t, c.found, f.Skip())
				if c.found {
					assert.Equal(t, start+first+c.mark, f.Position())
				} else {
					assert.Equal(t, start+first, f.Position())
				}
				f.Malformed = true
				assert.False(t, f.Skip())
			}
		})
	}
}
