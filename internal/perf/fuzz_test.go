package perf

import (
	"slices"
	"testing"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// FuzzRing reads rings with any content, forward and backward: reading ends, returns no more than the ring's data, and
// stays within its memory.
func FuzzRing(f *testing.F) {
	good := slices.Concat(sampleBytes(1, 1, 1, 5, "text"), otherBytes(typeComm, 0, 1, 6, append(words(1, 2), "name"...)),
		otherBytes(typeFork, 0, 1, 7, words(1, 2, 3, 4, 0, 0)), otherBytes(typeLost, 0, 1, 8, words(1, 0, 2, 0)))
	f.Add(good, uint64(0), uint64(len(good)), true, true, false)
	f.Add(good, uint64(4096-40), uint64(len(good)), false, false, false)
	f.Add(good, uint64(4096-40), uint64(4*minShare), false, false, true)
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0xff, 0xff}, uint64(1<<63), uint64(1<<62), true, false, false)
	f.Fuzz(func(t *testing.T, content []byte, tail, n uint64, callchain, cgroup, many bool) {
		size, rings := 4096, 1
		if many { // the ring is copied in parts
			size, rings = 4*minShare, drainBudget/minShare
		}
		r := newRing(size)
		for pos := 0; pos < size && len(content) > 0; pos += len(content) {
			r.put(tail+uint64(pos), content[:min(len(content), size-pos)])
		}
		r.tail.Store(tail)
		r.head.Store(tail + n)
		s := &Session{byID: map[uint64]*descriptor{}, kernel: newFakeKernel(0), o: Options{Callchain: callchain, CgroupID: cgroup}}
		src := &Source{session: s, tracepoint: tracefs.At("/").Event("ev")}
		for id := range uint64(3) {
			s.byID[id] = &descriptor{source: src, id: id}
		}
		s.sources = []*Source{src}
		s.rings = []*cpuRing{{queue: queue{ring: r}}}
		for len(s.rings) < rings {
			s.rings = append(s.rings, &cpuRing{queue: queue{ring: newRing(8)}})
		}
		s.flush = flushAsked
		bytes := 0
		var record Record
		for s.ReadInto(&record) == nil {
			bytes += headerSize + len(record.Raw) + len(record.Comm) + 8*len(record.Callchain)
			if bytes > size {
				t.Fatalf("%d bytes of records in a ring of %d", bytes, size)
			}
		}
		if q := &s.rings[0].queue; q.delivered() != q.end() {
			t.Errorf("%d of %d bytes are delivered", q.delivered(), q.end())
		}

		backward := &cpuRing{queue: queue{ring: newRing(minOverwrite)}}
		backward.queue.ring.put(tail, content)
		backward.queue.ring.head.Store(tail)
		backward.seen = tail + n
		backward.copyBackward()
		if len(backward.queue.buf) > minOverwrite-unsafePart {
			t.Errorf("%d bytes of a ring of %d", len(backward.queue.buf), minOverwrite)
		}
	})
}
