package perf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// put writes records at a position of a ring, as the kernel does.
func (r *ring) put(pos uint64, records ...[]byte) {
	for _, c := range slices.Concat(records...) {
		r.data[pos%uint64(len(r.data))] = c
		pos++
	}
}

// TestCopy takes records out of rings at any position.
func TestCopy(t *testing.T) {
	eight, sixteen := record(9, 0, nil), record(2, 0, []byte("abcdefgh"))
	for _, c := range []struct {
		name       string
		tail, head uint64
		records    [][]byte
	}{
		{"empty", 1000, 1000, nil},
		{"two", 0, 24, [][]byte{eight, sixteen}},
		{"full", 64, 128, [][]byte{sixteen, sixteen, sixteen, sixteen}},
		{"body around the end", 56, 72, [][]byte{sixteen}},
		{"header at the end", 64*5 - 8, 64 * 5, [][]byte{eight}},
		{"positions around the end of their range", 1<<64 - 8, 8, [][]byte{sixteen}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(64)
			r.tail.Store(c.tail)
			r.head.Store(c.head)
			r.put(c.tail, c.records...)
			for _, share := range []int{1 << 10, 8, 1} { // also in parts
				r.tail.Store(c.tail)
				assert.Equal(t, string(slices.Concat(c.records...)), string(copied(r, share)))
				assert.Equal(t, c.head, r.tail.Load(), "the kernel may overwrite what was read")
				assert.Empty(t, copied(r, share), "and nothing comes twice")
			}
		})
	}
	for _, share := range []int{64, 8} {
		r := newRing(64)
		r.head.Store(1 << 31) // no kernel is that far ahead
		assert.Len(t, copied(r, share), 64)
		r.head.Store(8) // of a kernel whose positions have 32 bits
		r.tail.Store(1<<32 - 8)
		assert.Len(t, copied(r, share), 16)
		assert.EqualValues(t, 8, r.tail.Load())
	}
}

// copied returns what a queue copies from a ring in parts.
func copied(r *ring, share int) (b []byte) {
	q := &queue{ring: r}
	for q.look(share); q.left > 0; q.pos = len(q.buf) {
		q.copy(share)
		b = append(b, q.buf...)
	}
	return b
}

// TestDistance: only positions of 32-bit kernels wrap around at 4 GiB.
func TestDistance(t *testing.T) {
	for _, c := range []struct{ from, to, want uint64 }{
		{0, 0, 0}, {8, 24, 16}, {0, 1 << 32, 1 << 32}, {1<<32 - 8, 8, 16}, {1<<32 - 8, 1<<32 + 8, 16}, {8, 1<<32 + 16, 1<<32 + 8}, {1<<64 - 8, 8, 16}, {1<<64 - 1<<32 - 64, 0, 1<<32 + 64},
	} {
		assert.Equal(t, c.want, distance(c.from, c.to), "from %#x to %#x", c.from, c.to)
	}
}

// TestSnapshotAfter4GiB: a ring that was overwritten many times since the last snapshot has new records only.
func TestSnapshotAfter4GiB(t *testing.T) {
	r := &cpuRing{queue: queue{ring: newRing(minOverwrite)}}
	r.seen = 1 << 40
	head := r.seen - 1<<32 - 24
	for at := head; at < head+minOverwrite; at += 16 {
		r.queue.ring.put(at, record(typeLost, 0, []byte("abcdefgh")))
	}
	r.queue.ring.head.Store(head)
	r.copyBackward()
	assert.Len(t, r.queue.buf, minOverwrite-unsafePart)
}

// TestOverwrittenWhileCopied: of a copy, what writers have changed meanwhile, or may be changing, is dropped.
func TestOverwrittenWhileCopied(t *testing.T) {
	const head, room = 1 << 40, 2*minOverwrite - unsafePart
	r := newRing(2 * minOverwrite)
	for _, c := range []struct{ copied, written, want int }{
		{room, 0, room}, {room, 100, room - 100}, {room, room, 0}, {room, 1 << 30, 0}, {1000, 100, 1000}, {1000, room - 1000, 1000}, {1000, room - 999, 999}, {0, 100, 0},
	} {
		r.head.Store(head - uint64(c.written))
		assert.Equal(t, c.want, r.unchanged(make([]byte, c.copied), head), "%+v", c)
	}
}

// TestOverwrittenForever: a copy ends, however fast the kernel overwrites the ring.
func TestOverwrittenForever(t *testing.T) {
	r := newRing(minOverwrite)
	var done atomic.Bool
	var writing sync.WaitGroup
	writing.Go(func() {
		for !done.Load() {
			r.head.Add(^uint64(minOverwrite - 1))
		}
	})
	b, _ := r.newest(nil, 0)
	assert.LessOrEqual(t, len(b), minOverwrite-unsafePart)
	done.Store(true)
	writing.Wait()
}

// TestNext: an incomplete record ends the records.
func TestNext(t *testing.T) {
	empty := record(9, 0, nil)
	got, rest := next(empty)
	assert.Equal(t, raw(empty), got)
	assert.Empty(t, rest)
	whole := record(9, 0, []byte("12345678"))
	got, rest = next(append(slices.Clone(whole), 1, 2))
	assert.Equal(t, raw(whole), got)
	assert.Equal(t, []byte{1, 2}, rest)
	for name, b := range map[string][]byte{
		"nothing": nil, "part of a header": whole[:7], "part of a body": whole[:15], "shorter than a header": {9, 0, 0, 0, 0, 0, 0, 0},
	} {
		got, rest := next(b)
		assert.Nil(t, got, name)
		assert.Nil(t, rest, name)
	}
}

func TestDecode(t *testing.T) {
	all := &Options{Callchain: true, CgroupID: true}
	who := live.Record{PID: 1, TID: 2, Monotonic: 77}
	with := func(change func(*live.Record)) live.Record {
		r := who
		change(&r)
		return r
	}
	const user = ^uint64(511) // PERF_CONTEXT_USER
	chain := order.AppendUint64(order.AppendUint64(order.AppendUint64(order.AppendUint64(nil, 3), user), 0x401000), 0x402000)
	cgroup := order.AppendUint64(nil, 4242)
	payload := rawBytes("hello")
	start := sampleStart(9, 1, 2, 77)
	for _, c := range []struct {
		name string
		o    *Options
		b    []byte
		want live.Record
	}{
		{"sample", &Options{}, record(typeSample, 0, slices.Concat(start, payload)), with(func(r *live.Record) { r.Kind, r.Raw = live.Sample, payload[4:] })},
		{"with all", all, record(typeSample, 0, slices.Concat(start, chain, payload, cgroup)), with(func(r *live.Record) {
			r.Kind, r.Raw, r.Callchain, r.CgroupID = live.Sample, payload[4:], []uint64{0x401000, 0x402000}, 4242
		})},
		{"comm", all, otherBytes(typeComm, 0, 9, 77, append(words(5, 6), "name"...)), with(func(r *live.Record) { r.Kind, r.PID, r.TID, r.Comm = live.Comm, 5, 6, []byte("name") })},
		{"exec", all, otherBytes(typeComm, miscCommExec, 9, 77, append(words(5, 6), "name\x00rest"...)), with(func(r *live.Record) {
			r.Kind, r.PID, r.TID, r.Comm = live.Exec, 5, 6, []byte("name")
		})},
		{"fork", all, otherBytes(typeFork, 0, 9, 77, words(5, 6, 7, 8, 0, 0)), with(func(r *live.Record) {
			r.Kind, r.PID, r.ParentPID, r.TID, r.ParentTID = live.Fork, 5, 6, 7, 8
		})},
		{"exit", all, otherBytes(typeExit, 0, 9, 77, words(5, 6, 7, 8, 0, 0)), with(func(r *live.Record) {
			r.Kind, r.PID, r.ParentPID, r.TID, r.ParentTID = live.Exit, 5, 6, 7, 8
		})},
		{"cgroup", all, otherBytes(typeCgroup, 0, 9, 77, append(order.AppendUint64(nil, 4242), "/a/b\x00\x00\x00\x00"...)), with(func(r *live.Record) {
			r.Kind, r.CgroupID, r.CgroupPath = live.Cgroup, 4242, []byte("/a/b")
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := raw(c.b)
			require.True(t, b.valid())
			assert.Equal(t, uint64(9), b.id())
			assert.Equal(t, uint64(77), b.time())
			got := live.Record{Tag: &Source{}, CgroupID: 1, ParentPID: 1, Comm: []byte("old"), CgroupPath: []byte("old")}
			require.True(t, b.decode(c.o, &got))
			if len(got.Callchain) == 0 {
				got.Callchain = nil
			}
			assert.Equal(t, c.want, got)
			if c.want.Kind == live.Sample {
				assert.Equal(t, "hello", textOf(&got))
			}
			// No part of a record is a valid record.
			for n := range len(b) {
				part := slices.Clone(b[:n])
				if n >= headerSize {
					order.PutUint16(part[6:], uint16(n))
				}
				if n >= headerSize && part.valid() {
					part.decode(c.o, &got) // a part may be valid, with fewer fields
				}
			}
		})
	}
	for name, b := range map[string][]byte{
		"unknown type":    otherBytes(77, 0, 9, 77, nil),
		"comm without id": otherBytes(typeComm, 0, 9, 77, nil),
		"short cgroup":    otherBytes(typeCgroup, 0, 9, 77, nil),
		"short fork":      otherBytes(typeFork, 0, 9, 77, words(1, 2)),
		"long raw":        record(typeSample, 0, slices.Concat(start, words(1000, 0))),
		"raw of 4 GiB":    record(typeSample, 0, slices.Concat(start, words(^uint32(0), 0))),
		"no cgroup":       record(typeSample, 0, slices.Concat(start, words(0, 0), payload)),
		"endless chain":   record(typeSample, 0, slices.Concat(start, order.AppendUint64(nil, 1<<61), payload)),
	} {
		o := &Options{CgroupID: name == "no cgroup", Callchain: name == "endless chain" || name == "no cgroup"}
		require.True(t, raw(b).valid(), name)
		if name == "no cgroup" {
			b = b[:len(b)-8]
		}
		assert.False(t, raw(b).decode(o, &live.Record{}), name)
	}
}

// TestQueue: records come in order, broken ones are counted, and memory is reused.
func TestQueue(t *testing.T) {
	a, b := sampleBytes(1, 1, 1, 10, "a"), sampleBytes(1, 1, 1, 20, "bb")
	short := record(typeSample, 0, []byte("12345678"))
	q := &queue{}
	assert.Zero(t, q.advance())
	assert.Nil(t, q.first)
	q.buf = slices.Concat(short, a, short, b, short)
	assert.Equal(t, uint64(1), q.advance())
	assert.Equal(t, raw(a), q.first)
	q.compact()
	assert.Equal(t, raw(a), q.first)
	assert.Equal(t, uint64(10), q.time)
	assert.Equal(t, uint64(1), q.advance())
	assert.Equal(t, raw(b), q.first)
	q.compact()
	assert.Equal(t, raw(b), q.first)
	assert.EqualValues(t, 2*len(short)+len(a), q.delivered())
	assert.EqualValues(t, 3*len(short)+len(a)+len(b), q.end())
	assert.Equal(t, uint64(1), q.advance())
	assert.Nil(t, q.first)
	q.compact()
	assert.Empty(t, q.buf)
}

// TestMerge: the oldest record of all queues is the next.
func TestMerge(t *testing.T) {
	var m merge
	assert.Nil(t, m.oldest())
	for _, times := range [][]uint64{{5, 6, 30}, {1, 7, 8}, {2}, {3, 40}} {
		q := &queue{}
		for _, time := range times {
			q.buf = append(q.buf, sampleBytes(1, 1, 1, time, "")...)
		}
		require.Zero(t, q.advance())
		m.add(q)
	}
	var got []uint64
	for m.oldest() != nil {
		got = append(got, m.oldest().time)
		m.take()
	}
	assert.Equal(t, []uint64{1, 2, 3, 5, 6, 7, 8, 30, 40}, got)
}

// TestMergeOfManyQueues: records come in order of time, however they are spread over queues, those of one time too.
func TestMergeOfManyQueues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		queues := make([]queue, 1+random.IntN(20))
		var want, got []uint64
		for time := range uint64(500) {
			for range random.IntN(3) {
				q := &queues[random.IntN(len(queues))]
				q.buf = append(q.buf, sampleBytes(1, 1, 1, time, "")...)
				want = append(want, time)
			}
		}
		var m merge
		for i := range queues {
			require.Zero(t, queues[i].advance())
			if queues[i].first != nil {
				m.add(&queues[i])
			}
		}
		for m.oldest() != nil {
			got = append(got, m.oldest().time)
			require.Zero(t, m.take())
		}
		require.Equal(t, want, got)
		for _, q := range queues {
			require.Equal(t, q.end(), q.delivered())
		}
	}
}

// record returns a record of a ring: struct perf_event_header and a body, padded to 8 bytes.
func record(kind uint32, misc uint16, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	b := order.AppendUint32(nil, kind)
	b = order.AppendUint16(b, misc)
	b = order.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

func identityBytes(pid, tid int, time uint64) []byte {
	b := order.AppendUint32(nil, uint32(pid))
	b = order.AppendUint32(b, uint32(tid))
	return order.AppendUint64(b, time)
}

// sampleBytes returns a sample whose payload is a text.
func sampleBytes(id uint64, pid, tid int, time uint64, text string) []byte {
	return record(typeSample, 0, append(sampleStart(id, pid, tid, time), rawBytes(text)...))
}

func sampleStart(id uint64, pid, tid int, time uint64) []byte {
	return append(order.AppendUint64(nil, id), identityBytes(pid, tid, time)...)
}

// rawBytes returns the data of PERF_SAMPLE_RAW: a size, 8 common bytes, and the payload, padded to 8 bytes.
func rawBytes(text string) []byte {
	data := append(make([]byte, tracepoint.CommonSize), text...)
	for (len(data)+4)%8 != 0 {
		data = append(data, 0)
	}
	return append(order.AppendUint32(nil, uint32(len(data))), data...)
}

// otherBytes returns a record of another type, with its trailer.
func otherBytes(kind uint32, misc uint16, id uint64, time uint64, body []byte) []byte {
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	return record(kind, misc, order.AppendUint64(append(body, identityBytes(1, 2, time)...), id))
}

func words(list ...uint32) (b []byte) {
	for _, w := range list {
		b = order.AppendUint32(b, w)
	}
	return b
}

// fakeTracefs is a directory with the files that a session reads.
type fakeTracefs struct {
	t   *testing.T
	dir string
	ids int
}

func newFakeTracefs(t *testing.T) *fakeTracefs {
	f := &fakeTracefs{t: t, dir: t.TempDir()}
	f.status()
	return f
}

// add adds an event and returns its id.
func (f *fakeTracefs) add(system, name string) int {
	f.t.Helper()
	f.ids++
	dir := filepath.Join(f.dir, "events", system, name)
	require.NoError(f.t, os.MkdirAll(dir, 0o700))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "id"), []byte(strconv.Itoa(f.ids)+"\n"), 0o600))
	return f.ids
}

// status writes user_events_status.
func (f *fakeTracefs) status(names ...string) {
	f.t.Helper()
	text := ""
	for _, name := range names {
		text += name + "\n"
	}
	text += fmt.Sprintf("\nActive: %d\nBusy: 0\n", len(names))
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, "user_events_status"), []byte(text), 0o600))
}

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
		var record live.Record
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
