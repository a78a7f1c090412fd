package tail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

var decoder = func() *record.Decoder {
	d, err := record.NewDecoder(tracepoint.System, tracepoint.MustParse("r u32 id; u32 n; u8 bad").Format())
	if err != nil {
		panic(err)
	}
	return d
}()

// recordOf returns a record of a request, 0 for none, at a time in milliseconds.
func recordOf(ms int, id, n uint32, bad bool) *record.Record {
	raw := make([]byte, tracepoint.CommonSize, tracepoint.CommonSize+9)
	raw = append(raw, byte(id), byte(id>>8), byte(id>>16), byte(id>>24), byte(n), byte(n>>8), byte(n>>16), byte(n>>24), 0)
	if bad {
		raw[len(raw)-1] = 1
	}
	ev := &record.Record{Monotonic: uint64(ms)*1e6 + 1, Time: time.Unix(1, 0), Raw: raw, CPU: 3, PID: 7}
	if err := decoder.Decode(raw, ev); err != nil {
		panic(err)
	}
	return ev
}

func when(t testing.TB, text string) *where.Condition {
	t.Helper()
	c, err := where.Parse(text)
	require.NoError(t, err)
	return c
}

// shown adds records, and returns the numbers of those that are let through.
func shown(t testing.TB, b *Buffer, events ...*record.Record) (numbers []uint64) {
	t.Helper()
	for _, ev := range events {
		b.Add(ev)
		for ev := b.Next(); ev != nil; ev = b.Next() {
			n, ok := ev.Lookup("n")
			require.True(t, ok)
			require.Equal(t, []any{3, int32(7)}, []any{ev.CPU, ev.PID})
			numbers = append(numbers, n.Uint64())
		}
	}
	return numbers
}

func TestBuffer(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id", Window: time.Second})
	require.NoError(t, err)
	assert.Empty(t, shown(t, b, recordOf(0, 1, 1, false), recordOf(10, 2, 2, false), recordOf(500, 1, 3, false)))
	assert.Equal(t, 3, b.Stats().Held)
	assert.Equal(t, []uint64{1, 3, 4}, shown(t, b, recordOf(900, 1, 4, true)), "also those before")
	assert.Equal(t, []uint64{5}, shown(t, b, recordOf(1800, 1, 5, false), recordOf(1850, 2, 6, false)), "and those behind")
	assert.Equal(t, []uint64{7}, shown(t, b, recordOf(1900, 1, 7, false)), "until the window ends")
	assert.Empty(t, shown(t, b, recordOf(1901, 1, 8, false)))
	assert.Equal(t, Stats{Held: 2, Shown: 5, Expired: 1, With: 8, Bytes: b.bytes}, b.Stats())
	assert.Equal(t, []uint64{8, 9}, shown(t, b, recordOf(2000, 1, 9, true)))
	assert.Equal(t, []uint64{10, 11}, shown(t, b, recordOf(2900, 1, 10, true), recordOf(3800, 1, 11, false)), "each that matches begins a window")
	assert.Empty(t, shown(t, b, recordOf(9000, 1, 12, false)))
	assert.Equal(t, 1, b.Stats().Held)

	without, err := New(Options{When: when(t, "bad == 1"), By: "nosuch"})
	require.NoError(t, err)
	assert.Equal(t, []uint64{2}, shown(t, without, recordOf(0, 1, 1, false), recordOf(0, 1, 2, true)))
	assert.Equal(t, Stats{Shown: 1, Without: 1}, without.Stats())
}

func TestOptions(t *testing.T) {
	c := when(t, "bad == 1")
	for _, o := range []Options{{}, {When: c}, {By: "x"}, {When: c, By: "x", Window: -1}, {When: c, By: "x", Bytes: 1000}} {
		_, err := New(o)
		assert.ErrorIs(t, err, fs.ErrInvalid)
	}
}

// TestUnread: records that the caller does not ask for are dropped by the next Add, and counted.
func TestUnread(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id"})
	require.NoError(t, err)
	shown(t, b, recordOf(0, 1, 1, false), recordOf(0, 1, 2, false), recordOf(0, 2, 3, false))
	b.Add(recordOf(0, 1, 4, true))
	require.NotNil(t, b.Next())
	assert.Equal(t, []uint64{3, 5}, shown(t, b, recordOf(0, 2, 5, true)))
	assert.Equal(t, Stats{Shown: 3, Evicted: 2, With: 5, Bytes: b.bytes}, b.Stats())
}

// TestPass: an error of the function ends the records that are let through, and they count as dropped.
func TestPass(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id"})
	require.NoError(t, err)
	full := errors.New("full")
	calls := 0
	fails := func(*record.Record) error { calls++; return full }
	for n := range uint32(3) {
		require.NoError(t, b.Pass(recordOf(0, 1, n, false), fails))
	}
	require.Zero(t, calls)
	assert.ErrorIs(t, b.Pass(recordOf(0, 1, 3, true), fails), full)
	require.NoError(t, b.Pass(recordOf(0, 1, 4, false), func(*record.Record) error { calls++; return nil }))
	assert.Equal(t, 2, calls)
	assert.Equal(t, Stats{Shown: 2, Evicted: 3, With: 5, Bytes: b.bytes}, b.Stats())
}

// TestMarksStay: a flood of other records does not end the time in which those of a failed request are let through.
func TestMarksStay(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id", Bytes: MinBytes})
	require.NoError(t, err)
	require.Equal(t, []uint64{1}, shown(t, b, recordOf(0, 1, 1, true)))
	for i := range 9000 {
		require.Zero(t, count(b, recordOf(i, 1000+uint32(i), 2, false)))
		if i%1000 == 999 {
			require.Equal(t, []uint64{3}, shown(t, b, recordOf(i, 1, 3, false)))
		}
	}
	require.Positive(t, b.Stats().Evicted)
	require.Empty(t, shown(t, b, recordOf(10_001, 1, 3, false)), "the window is over")

	always, err := New(Options{When: when(t, "bad == 1"), By: "id", Bytes: MinBytes})
	require.NoError(t, err)
	for i := range uint32(20_000) {
		require.EqualValues(t, 1, count(always, recordOf(0, i, i, true)))
	}
	require.Equal(t, memory(always), always.bytes)
	for i := range uint32(1000) {
		require.Zero(t, count(always, recordOf(0, 30_000+i, i, false)))
	}
	require.Equal(t, 1000, always.Stats().Held, "requests that fail leave room for others")
}

// TestWallTime: recordings follow each other whose monotonic clocks begin again, and a record whose time is wrong does not stop time.
func TestWallTime(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id", Window: 10 * time.Second, WallTime: true})
	require.NoError(t, err)
	newRecord := func(at time.Time, id, n uint32, bad bool) *record.Record {
		ev := recordOf(1, id, n, bad)
		ev.Time = at
		return ev
	}
	begin := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	wrong := []time.Time{{}, time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0)}
	for i, at := range wrong {
		id := uint32(i + 1)
		require.Empty(t, shown(t, b, newRecord(at, 99, 0, false)))
		d := time.Duration(i) * time.Hour
		require.Equal(t, []uint64{1, 2, 3}, shown(t, b, newRecord(after(d), id, 1, false), newRecord(after(d+time.Second), id, 2, false), newRecord(after(d+2*time.Second), id, 3, true)), at)
		require.Empty(t, shown(t, b, newRecord(after(d+13*time.Second), id, 4, false)), "the window is over")
		require.Equal(t, []uint64{5}, shown(t, b, newRecord(after(d+30*time.Second), id, 5, true)), "what was held has expired")
	}
	require.Equal(t, []uint64{1, 2}, shown(t, b, newRecord(begin, 50, 1, false), newRecord(after(time.Second), 50, 2, true)), "an older recording")
}

// TestLongWindow: the sum of a time and the window has no room in 64 bits.
func TestLongWindow(t *testing.T) {
	for _, base := range []uint64{1, 1 << 63, math.MaxUint64 - 100} {
		b, err := New(Options{When: when(t, "bad == 1"), By: "id", Window: math.MaxInt64})
		require.NoError(t, err)
		n := uint64(0)
		for i := range uint64(10) {
			ev := recordOf(0, 1, uint32(i), i == 5)
			ev.Monotonic = base + i
			n += count(b, ev)
		}
		assert.EqualValues(t, 10, n, base)
	}
}

// TestLongValues: of long values, the beginning tells groups apart.
func TestLongValues(t *testing.T) {
	b, err := New(Options{When: when(t, "level >= error"), By: "request_id"})
	require.NoError(t, err)
	logged := func(id string, s record.Severity) *record.Record {
		rec := &record.Record{Kind: record.KindLog, Severity: s}
		rec.SetFields([]record.Field{{Name: "request_id", Value: record.StringValue(id)}})
		return rec
	}
	long := strings.Repeat("x", maxKey)
	for _, id := range []string{long + "a", long, long[1:] + "y", long[1:]} {
		require.Zero(t, count(b, logged(id, record.SeverityDebug)))
	}
	assert.EqualValues(t, 3, count(b, logged(long+"b", record.SeverityError)))
	assert.EqualValues(t, 2, count(b, logged(long[1:], record.SeverityError)))
}

// TestModel compares a Buffer that has room with a plain implementation, on random records.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b, err := New(Options{When: when(t, "bad == 1"), By: "id", Window: 100 * time.Millisecond})
		require.NoError(t, err)
		type rec struct {
			ms int
			id uint32
			n  uint64
		}
		var heldBy []rec
		until := map[uint32]int{}
		ms, total, passed := 0, 0, uint64(0)
		for n := range uint32(2000) {
			ms += rnd.IntN(4) * rnd.IntN(4)
			id, bad := rnd.Uint32N(20), rnd.IntN(30) == 0
			heldBy = slicesDelete(heldBy, func(r rec) bool { return r.ms+100 < ms })
			var want []uint64
			switch last, ok := until[id]; {
			case bad:
				heldBy = slicesDelete(heldBy, func(r rec) bool {
					if r.id == id {
						want = append(want, r.n)
					}
					return r.id == id
				})
				want = append(want, uint64(n))
				until[id] = ms + 100
			case ok && ms <= last:
				want = append(want, uint64(n))
			default:
				heldBy = append(heldBy, rec{ms, id, uint64(n)})
			}
			total++
			got := shown(t, b, recordOf(ms, id, n, bad))
			require.Equal(t, want, got, "%d: %d", seed, n)
			passed += uint64(len(got))
			st := b.Stats()
			require.Equal(t, len(heldBy), st.Held)
			require.Equal(t, passed, st.Shown)
			require.Equal(t, uint64(total), uint64(st.Held)+st.Shown+st.Expired)
		}
	}
}

func slicesDelete[T any](list []T, del func(T) bool) []T {
	kept := list[:0]
	for _, v := range list {
		if !del(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// TestBounds: the memory is bounded whatever programs write, and every record is counted.
func TestBounds(t *testing.T) {
	const limit = 4 << 20
	for name, c := range map[string]struct {
		when string
		id   func(n uint32) uint32
		bad  func(n uint32) bool
	}{
		"different ids":      {"bad == 1", func(n uint32) uint32 { return n }, func(uint32) bool { return false }},
		"one id":             {"bad == 1", func(uint32) uint32 { return 1 }, func(uint32) bool { return false }},
		"always":             {"n >= 0", func(n uint32) uint32 { return n }, func(uint32) bool { return false }},
		"always, one id":     {"n >= 0", func(uint32) uint32 { return 1 }, func(uint32) bool { return false }},
		"some":               {"bad == 1", func(n uint32) uint32 { return n % 100_000 }, func(n uint32) bool { return n%1000 == 0 }},
		"ids, then a marker": {"bad == 1", func(n uint32) uint32 { return n / 3 }, func(n uint32) bool { return n%3 == 2 }},
	} {
		b, err := New(Options{When: when(t, c.when), By: "id", Bytes: limit})
		require.NoError(t, err)
		const n = 300_000
		passed := uint64(0)
		for i := range uint32(n) {
			passed += count(b, recordOf(int(i/100), c.id(i), i, c.bad(i)))
			if b.bytes > limit {
				require.LessOrEqual(t, b.bytes, limit, name)
			}
		}
		st := b.Stats()
		assert.Equal(t, passed, st.Shown, name)
		assert.EqualValues(t, n, uint64(st.Held)+st.Shown+st.Expired+st.Evicted+st.Without, name)
		held := 0
		for _, g := range b.groups {
			require.True(t, g.records > 0 || g.marked, name)
			held += g.records
		}
		assert.Equal(t, []int{held, memory(b)}, []int{st.Held, b.bytes}, name)
		count(b, recordOf(100_000_000, 0, 0, false))
		assert.LessOrEqual(t, len(b.groups), 1, "%s: all has expired", name)
	}
}

// TestMillionIDs: the memory of the process is bounded, too, also for what maps keep.
func TestMillionIDs(t *testing.T) {
	testscale.HostOnly(t)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const limit = 8 << 20
	b, err := New(Options{When: when(t, "bad == 1"), By: "id", Bytes: limit})
	require.NoError(t, err)
	ev := recordOf(0, 0, 0, false)
	at := tracepoint.CommonSize
	n := testscale.Count(1_000_000, 500_000)
	for i := range uint32(n) {
		ev.Monotonic += 1000
		binary.NativeEndian.PutUint32(ev.Raw[at:], i)
		require.NoError(t, decoder.DecodeReuse(ev.Raw, ev))
		if count(b, ev) != 0 {
			t.Fatal("none matches")
		}
	}
	assert.Less(t, heap()-before, int64(2*limit))
	assert.EqualValues(t, n, uint64(b.Stats().Held)+b.Stats().Evicted+b.Stats().Expired)
	runtime.KeepAlive(b)
}

// TestUndecodable: a record that its decoder does not understand is let through as it is.
func TestUndecodable(t *testing.T) {
	b, err := New(Options{When: when(t, "event == r"), By: "system", Window: time.Second})
	require.NoError(t, err)
	short, err := record.NewDecoder(tracepoint.System, tracepoint.MustParse("s u32 id").Format())
	require.NoError(t, err)
	for _, size := range []int{tracepoint.CommonSize + 4, tracepoint.CommonSize} {
		ev := new(record.Record)
		_ = short.Decode(make([]byte, size), ev)
		ev.Monotonic = 1
		require.Equal(t, size == tracepoint.CommonSize, ev.Undecodable)
		require.Zero(t, count(b, ev))
	}
	b.Add(recordOf(1, 1, 1, false))
	assert.False(t, b.Next().Undecodable)
	ev := b.Next()
	assert.True(t, ev.Undecodable)
	assert.Len(t, ev.Raw, tracepoint.CommonSize)
	assert.Equal(t, "r", b.Next().Name)
}

// count adds a record, and returns how many are let through.
func count(b *Buffer, ev *record.Record) (n uint64) {
	b.Add(ev)
	for b.Next() != nil {
		n++
	}
	return n
}

// memory adds up what Stats.Bytes counts.
func memory(b *Buffer) int {
	n := 0
	decoders, processes := map[*record.Decoder]bool{}, map[*record.Process]bool{}
	for _, c := range b.chunks {
		for _, d := range c.decoders {
			decoders[d] = true
		}
		for _, p := range c.processes {
			processes[p] = true
		}
		n += c.size() + c.wholes
	}
	for d := range decoders {
		n += decoderSize(d)
	}
	for p := range processes {
		n += processSize(p)
	}
	for _, g := range b.groups {
		n += g.size()
	}
	return n
}

// TestManyPrograms: what held records refer to counts, also if it is there for them alone.
func TestManyPrograms(t *testing.T) {
	const limit = 2 << 20
	b, err := New(Options{When: when(t, "bad == 1"), By: "id", Bytes: limit})
	require.NoError(t, err)
	for i := range uint32(5000) {
		ev := recordOf(int(i), i, i, false)
		ev.Process = &record.Process{PID: int32(i), Cgroup: strings.Repeat("c", 4000)}
		d, err := record.NewDecoder(tracepoint.System, ev.Decoder.Format())
		require.NoError(t, err)
		require.NoError(t, d.Decode(ev.Raw, ev))
		require.Zero(t, count(b, ev))
		require.LessOrEqual(t, b.bytes, limit+chunkEntries*(decoderSize(d)+processSize(ev.Process)), "but for the chunk that is filled")
	}
	assert.Equal(t, memory(b), b.bytes)
	assert.Less(t, b.Stats().Held, 1000)
	count(b, recordOf(100_000_000, 0, 0, false))
	assert.Equal(t, memory(b), b.bytes)
	assert.Len(t, b.shared, 2, "of the last record")
}

// TestStack: a held record keeps its stack, cgroup and process.
func TestStack(t *testing.T) {
	b, err := New(Options{When: when(t, "bad == 1"), By: "id"})
	require.NoError(t, err)
	process := &record.Process{PID: 7, Comm: "shop"}
	for i := range uint32(3) {
		ev := recordOf(int(i), 1, i, false)
		ev.CgroupID, ev.TID, ev.Process, ev.Callchain = 99, 8, process, []uint64{uint64(i), 1 << 63}[:i%3]
		b.Add(ev)
		require.Nil(t, b.Next())
	}
	b.Add(recordOf(5, 1, 3, true))
	for i := range 3 {
		ev := b.Next()
		require.NotNil(t, ev)
		assert.Equal(t, []uint64{uint64(i), 1 << 63}[:i%3], append([]uint64{}, ev.Callchain...))
		assert.Equal(t, []any{uint64(99), int32(8), process, uint64(i)*1e6 + 1, time.Unix(1, 0)}, []any{ev.CgroupID, ev.TID, ev.Process, ev.Monotonic, ev.Time})
	}
}

// TestWhole: records without their bytes, such as those of JSON lines, are held, too.
func TestWhole(t *testing.T) {
	b, err := New(Options{When: when(t, "level >= error"), By: "request_id"})
	require.NoError(t, err)
	newRecord := func(i int, s record.Severity) *record.Record {
		rec := &record.Record{Kind: record.KindLog, Severity: s, Message: fmt.Sprint(i), Time: time.Unix(int64(i), 0)}
		rec.SetFields([]record.Field{{Name: "request_id", Value: record.StringValue("a")}})
		return rec
	}
	var list []string
	for i, s := range []record.Severity{record.SeverityDebug, record.SeverityInfo, record.SeverityError, record.SeverityDebug} {
		b.Add(newRecord(i, s))
		for ev := b.Next(); ev != nil; ev = b.Next() {
			list = append(list, ev.Message)
		}
	}
	assert.Equal(t, []string{"0", "1", "2", "3"}, list)
	for i := range 20_000 {
		require.Zero(t, count(b, newRecord(100+i, record.SeverityDebug)))
	}
	assert.Equal(t, []int{11, memory(b)}, []int{b.Stats().Held, b.bytes})

	small, err := New(Options{When: when(t, "level >= error"), By: "request_id", Bytes: MinBytes})
	require.NoError(t, err)
	for i := range 1000 {
		ev := newRecord(0, record.SeverityDebug)
		ev.Message, ev.Body = strings.Repeat("m", 10_000), record.StringValue(fmt.Sprint(i))
		require.Zero(t, count(small, ev))
		require.LessOrEqual(t, small.bytes, MinBytes)
		require.Equal(t, memory(small), small.bytes)
	}
	assert.Greater(t, small.Stats().Held, 20)
	assert.EqualValues(t, 1000, uint64(small.Stats().Held)+small.Stats().Evicted)
}

// TestWholeSize: all that a record refers to counts.
func TestWholeSize(t *testing.T) {
	text := strings.Repeat("x", 50_000)
	list := make([]record.Field, 1000)
	for name, ev := range map[string]record.Record{
		"process":  {Process: &record.Process{Exe: text}},
		"scope":    {ScopeName: text},
		"state":    {TraceState: text, StatusMessage: text, SeverityText: text},
		"stack":    {Callchain: make([]uint64, 8000)},
		"raw":      {Raw: make([]byte, 60_000)},
		"large":    {Raw: make([]byte, 60_000), Decoder: decoder, Callchain: make([]uint64, 10_000)},
		"metric":   {Point: &record.Point{Unit: text, Request: []byte(text), Quantiles: make([]record.Quantile, 100)}},
		"body":     {Body: record.ListValue(list)},
		"map":      {Resource: []record.Field{{Name: "m", Value: record.MapValue(list)}}},
		"event":    {NestedEvents: []record.NestedEvent{{Name: text}}},
		"location": {Timestamp: time.Date(2026, 11, 27, 0, 0, 0, 0, time.Local), Message: text},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := New(Options{When: when(t, "bad == 1"), By: "pid", Bytes: 8 * MinBytes})
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range 500 {
				ev.PID = int32(i + 1)
				require.Zero(t, count(b, &ev))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			assert.Less(t, after.HeapAlloc, before.HeapAlloc+12*MinBytes)
			assert.Equal(t, memory(b), b.bytes)
			assert.Greater(t, b.Stats().Held, 40)
		})
	}
}
