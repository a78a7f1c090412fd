package perf

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/userevents/userevents-go/internal/live"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heap returns the bytes of live memory.
func heap() int64 {
	runtime.GC()
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	return int64(st.HeapAlloc)
}

// buffers returns the memory of the copies of records, in bytes.
func (s *Session) buffers() (n int) {
	for _, r := range s.rings {
		n += cap(r.queue.buf)
	}
	return n
}

// TestStallOnManyCPUs: after a stall, in which the rings of all CPUs became full, all records are read in their order, in memory that
// does not grow with the rings, and that is free later.
func TestStallOnManyCPUs(t *testing.T) {
	const cpus, size = 256, 256 << 10
	k := newFakeKernel()
	k.limit = 10_000
	for n := range cpus {
		k.cpus = append(k.cpus, cpu{n, 1})
	}
	s, id, src := k.attach(t, &Options{BufferSize: size})
	text, time0, written := strings.Repeat("x", 1000), uint64(0), 0
	fill := func(n int) {
		for range n {
			for c := range cpus {
				time0++
				k.hit(id, c, time0, text)
				written++
			}
		}
	}
	full := size/len(sampleBytes(1, 1, 1, 1, text)) + 1
	fill(full)
	require.Equal(t, uint64(cpus), statsOf(t, src).Lost, "the last record of each ring")
	before := heap()
	most, r := int64(0), live.Record{}
	read := func() (n int) {
		s.SetDeadline(time.Now().Add(-1))
		for last := uint64(0); ; n++ {
			err := s.ReadInto(&r)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return n
			}
			require.NoError(t, err)
			require.Greater(t, r.Monotonic, last)
			last = r.Monotonic
			if n%10_000 == 0 {
				most = max(most, heap()-before)
			}
		}
	}
	assert.Equal(t, written-cpus, read())
	assert.True(t, s.Overran())
	fill(full / 2)
	assert.Equal(t, full/2*cpus, read(), "half full")
	assert.Zero(t, MustStats(t, s).Late)
	t.Logf("%d KiB of memory for rings of %d KiB, at most %d KiB", most>>10, cpus*size>>10, drainBudget>>10)
	assert.LessOrEqual(t, most, int64(drainBudget+drainBudget/4))
	assert.LessOrEqual(t, s.buffers(), drainBudget+drainBudget/4)
	for range shrinkAfter {
		fill(1)
		assert.Equal(t, cpus, read())
	}
	assert.LessOrEqual(t, s.buffers(), cpus*8<<10)
}

// TestRecordsInParts: of rings that are copied in parts, records that are cut arrive whole, also those that are larger than a part; nothing
// behind a broken one is read, and what comes later is.
func TestRecordsInParts(t *testing.T) {
	small, large := sampleBytes(1, 1, 1, 1, strings.Repeat("a", 100)), sampleBytes(1, 1, 1, 2, strings.Repeat("b", 60_000))
	r := newRing(256 << 10)
	q := &queue{ring: r}
	write := func(records ...[]byte) {
		r.put(r.head.Load(), records...)
		for _, b := range records {
			r.head.Add(uint64(len(b)))
		}
	}
	const share = 1000
	read := func() (got []int, skipped uint64) {
		q.look(share)
		for {
			skipped += q.advance()
			for q.first == nil && q.left > 0 {
				q.copy(share)
				skipped += q.advance()
			}
			if q.first == nil {
				return got, skipped
			}
			got = append(got, len(q.first))
		}
	}
	var want []int
	for range 50 {
		write(small)
		want = append(want, len(small))
	}
	write(large, small)
	got, skipped := read()
	assert.Equal(t, append(want, len(large), len(small)), got)
	assert.Zero(t, skipped)
	assert.Equal(t, q.end(), q.delivered())

	invalid := make([]byte, 8) // smaller than its header
	binary.NativeEndian.PutUint16(invalid[6:], 3)
	write(small, invalid)
	for range 50 {
		write(small)
	}
	got, skipped = read()
	assert.Equal(t, []int{len(small)}, got)
	assert.EqualValues(t, 1, skipped)
	write(large)
	got, skipped = read()
	assert.Equal(t, []int{len(large)}, got)
	assert.Zero(t, skipped)
	assert.Equal(t, q.end(), q.delivered())
	assert.Equal(t, r.head.Load(), r.tail.Load())
}

// TestLossBetweenParts: a ring may fill up and lose records while it is read in parts, and Overran tells of that.
func TestLossBetweenParts(t *testing.T) {
	k := newFakeKernel()
	k.limit = 10_000
	for n := range drainBudget / minShare {
		k.cpus = append(k.cpus, cpu{n, 1})
	}
	s, id, src := k.attach(t, &Options{BufferSize: 512 << 10})
	text, n := strings.Repeat("x", 1000), uint64(0)
	hit := func(count int) {
		for range count {
			n++
			k.hit(id, 0, n, text)
		}
	}
	hit(200)
	var r live.Record
	require.NoError(t, s.ReadInto(&r))
	require.False(t, s.Overran())
	dry := func() bool { return s.ready.oldest().first == nil } // the next record is still in the ring
	require.False(t, dry())
	assert.Equal(t, uint64(1), s.Delivered(), "the next one has the time 2")
	for !dry() {
		require.NoError(t, s.ReadInto(&r))
	}
	require.Less(t, r.Monotonic, uint64(200))
	assert.Equal(t, r.Monotonic-1, s.Delivered(), "the next one may be of the same time")
	for statsOf(t, src).Lost == 0 {
		hit(1)
	}
	for range 150 {
		require.NoError(t, s.ReadInto(&r)) // which makes room
	}
	assert.True(t, s.Overran())
	left := n - uint64(1)
	for r.Monotonic < left {
		require.NoError(t, s.ReadInto(&r))
	}
	s.SetDeadline(time.Now().Add(-1))
	require.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded)
	assert.Zero(t, MustStats(t, s).Late)
}
