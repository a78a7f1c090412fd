package sloghandler_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

type numbers []int

// TestBoundLikeInCall: an attribute has the same value whether it was bound or is one of the call.
func TestBoundLikeInCall(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	for _, v := range []any{
		1, int8(-1), uint64(1 << 63), 0.5, float32(0.1), 1.0, true, "text", "\xff\x1b", time.Second, time.Unix(1, 2), errors.New("e"), nil, slog.LevelWarn,
		[]int{1, -2},
		[]int8{1},
		[]int32{1},
		[]int64{1},
		[]uint64{1 << 63},
		[]uint16{1},
		[]float64{0.5},
		[]float32{0.5},
		[]bool{true},
		[]string{"a", "\xff"},
		[]error{errors.New("a"), nil},
		[]byte{1, 0xff},
		[]byte{},
		[]int(nil), []string(nil), []byte(nil), []error(nil),
		[]int{},
		[]string{},
		numbers{1},
		[2]int{1, 2},
		[]any{1, "x"},
		map[string]int{"a": 1},
		struct{ X int }{1},
		[]time.Duration{1},
		[]time.Time{time.Unix(1, 2).UTC()},
	} {
		slog.New(h).Info("m", "v", v)
		slog.New(h).With("v", v).Info("m")
		records := tr.Records()
		require.Len(t, records, 2)
		assert.Equal(t, decoded(t, records[0]).json, decoded(t, records[1]).json, "%T", v)
	}
}

// TestMemoryOfManyBound: loggers that are derived from each other keep no memory by the square of their number.
func TestMemoryOfManyBound(t *testing.T) {
	testscale.HostOnly(t)
	for name, o := range map[string]sloghandler.Options{
		"typed": {}, "declared": {Declarations: []sloghandler.AnyDeclaration{httpRequest}},
	} {
		h, tr := attached(t, o)
		all := []slog.Handler{h.WithAttrs([]slog.Attr{slog.Int("status", 200)})}
		for i := range 5000 {
			all = append(all, all[i].WithAttrs([]slog.Attr{slog.Int("key", i)}))
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		slog.New(all[len(all)-1]).Info("m")
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(20<<20), name)
		assert.Less(t, int64(after.TotalAlloc)-int64(before.TotalAlloc), int64(500<<20), name)
		assert.Contains(t, only(t, tr).json, `"status":200`, name)
		runtime.KeepAlive(all)
	}
}

// TestMemoryOfDerived: a logger that is derived from the last one, again and again, keeps none of those: it takes at most twice the
// memory of one of slog's.
func TestMemoryOfDerived(t *testing.T) {
	testscale.HostOnly(t)
	h, tr := attached(t, sloghandler.Options{})
	kept := func(h slog.Handler) int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := slog.New(h)
		for i := range 2000 {
			l = l.With("i", i)
			l.Info("m")
			tr.Records()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(l)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	kept(h) // what is pooled
	most := 2 * kept(slog.NewJSONHandler(io.Discard, nil))
	assert.LessOrEqual(t, kept(h), most)
}

// TestNamedValues: a value of a named type is written as the plain kind below it, in the call and bound.
func TestNamedValues(t *testing.T) {
	type (
		namedInt   int8
		namedUint  uint64
		namedFloat float32
		namedBool  bool
		namedText  string
	)
	h, tr := attached(t, sloghandler.Options{})
	for _, c := range []struct {
		in   any
		want string
	}{
		{namedInt(-3), `-3`},
		{namedInt(3), `3`},
		{namedUint(3), `3`},
		{namedUint(1 << 63), `9223372036854775808`},
		{namedFloat(0.5), `0.5`},
		{namedBool(true), `true`},
		{namedBool(false), `false`},
		{namedText("a\"b"), `"a\"b"`},
		{json.Number("-0"), `-0`},
		{json.Number("0.10"), `0.10`}, // and not 0.1
		{json.Number("1e999"), `1e999`},
		{json.RawMessage(`{"a":1}`), `{"a":1}`},
	} {
		slog.New(h).Info("m", "v", c.in)
		slog.New(h).With("v", c.in).Info("m")
		for _, raw := range tr.Records() {
			assert.Equal(t, `{"v":`+c.want+`}`, field(t, decode(t, raw.Declaration, raw.Payload), "attributes"), "%T(%v)", c.in, c.in)
		}
	}
}

// TestBoundInGroups: what a bound group refers to is written as it was when it was bound, and the program's group stays as it is.
func TestBoundInGroups(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	for name, want := range map[string]string{"g": `{"plain":1,"g":{"v":[1]}}`, "": `{"plain":1,"v":[1]}`} {
		list := []int{1}
		group := []slog.Attr{slog.Any("v", list)}
		log := slog.New(h.WithAttrs([]slog.Attr{slog.Int("plain", 1), {Key: name, Value: slog.GroupValue(group...)}}))
		list[0] = 2
		log.Info("m")
		assert.Equal(t, want, only(t, tr).json)
		assert.Equal(t, &list[0], &group[0].Value.Any().([]int)[0], "the program's own value")
		group[0] = slog.Int("v", 3)
		log.Info("m")
		assert.Equal(t, want, only(t, tr).json)
	}
}

// TestBoundDuplicates: with UniqueKeys, long bound values do not take room from the one that replaces them.
func TestBoundDuplicates(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{UniqueKeys: true})
	long := strings.Repeat("x", 5000)
	log := slog.New(h)
	for range 40 {
		log = log.With("k", long)
		log.Info("m", "k", long)
		r := only(t, tr)
		require.Greater(t, len(r.attributes["k"].(string)), 3900, "the room is used")
		require.Equal(t, "1", r.fields["truncated"])
	}
}

// TestManyGroups: groups are walked into up to a number that is enough for every program. The record counts those above it.
func TestManyGroups(t *testing.T) {
	for count, lost := range map[int]string{1000: "0", 1001: "1", 1003: "3"} {
		var groups []any
		for i := range count {
			group := slog.Group("", slog.Attr{}) // which takes no room
			if i >= 999 {
				group = slog.Group("", "k", i)
			}
			groups = append(groups, group)
		}
		direct, tr := attached(t, sloghandler.Options{})
		resolved, resolvedTool := attached(t, sloghandler.Options{ReplaceAttr: unchanged})
		for h, tool := range map[*sloghandler.Handler]*ueventstest.Tool{direct: tr, resolved: resolvedTool} {
			for _, log := range []func(){
				func() { slog.New(h).Info("m", groups...) },
				func() { slog.New(h).With(groups...).Info("m") },
				func() { slog.New(h).With(append(groups[:count:count], "err", errors.New("e"))...).Info("m") }, // which freezes them
			} {
				log()
				r := only(t, tool)
				assert.InDelta(t, 999, r.attributes["k"], 0, "%d groups", count)
				assert.Equal(t, lost, r.fields["truncated"], "%d groups", count)
			}
		}
	}
}

// TestAllocationsOfBound: what a handler adds to records is encoded once, also if it is larger than a record may be.
func TestAllocationsOfBound(t *testing.T) {
	testscale.CountAllocations(t)
	h, _ := attached(t, sloghandler.Options{})
	log := func(h slog.Handler) float64 {
		l := slog.New(h)
		return testing.AllocsPerRun(20, func() { l.Info("m") })
	}
	few := []slog.Attr{slog.Int("n", 1)}
	many := []slog.Attr{slog.String("a", strings.Repeat("x", 3000)), slog.String("b", strings.Repeat("y", 3000))}
	assert.Equal(t, log(h.WithAttrs(few)), log(h.WithAttrs(many)))
	assert.InDelta(t, 2, testing.AllocsPerRun(20, func() { h.WithAttrs(few) }), 0, "the handler and the copy of the attributes")
}

// changing is an error whose text the program changes.
type changing struct{ text string }

func (e *changing) Error() string { return e.text }

// TestBoundErrors: a bound error, alone or in a list, has the text that it had when it was bound.
func TestBoundErrors(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	err := &changing{"before"}
	log := slog.New(h).With("err", err, "list", []error{err, nil})
	err.text = "after"
	log.Info("m")
	r := only(t, tr)
	assert.Equal(t, "before", r.attributes["err"])
	assert.Equal(t, "before", r.attributes["list"].([]any)[0])
}

// TestManyWith: a logger made by n calls of With takes memory in proportion to n, the first record included, and a
// record none. The attributes that no record can hold count as truncated.
func TestManyWith(t *testing.T) {
	testscale.HostOnly(t)
	for name, o := range map[string]sloghandler.Options{
		"plain": {}, "unique keys": {UniqueKeys: true}, "replaced": {ReplaceAttr: unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			h, tr := attached(t, o)
			allocated := func(n int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				log := slog.New(h)
				for i := range n {
					log = log.With("key"+strconv.Itoa(i), i)
				}
				log.Info("m")
				runtime.ReadMemStats(&after)
				r := readRecord(t, tr.Records()[0])
				require.Equal(t, n, len(r.attributes)+r.truncated)
				require.Equal(t, "key0", r.attributes[0].key)
				assert.Greater(t, len(r.attributes), 200)
				return after.TotalAlloc - before.TotalAlloc
			}
			n := 10_000
			allocated(n)
			some := allocated(n)
			assert.Less(t, allocated(4*n), 5*some)
		})
	}
}

// TestManyWithGroup: a group in each of n groups takes memory in proportion to n.
func TestManyWithGroup(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		log := slog.New(h)
		for range n {
			log = log.WithGroup("g")
		}
		log.Info("m", "k", 1)
		runtime.ReadMemStats(&after)
		require.Len(t, tr.Records(), 1)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(10_000)
	some := allocated(10_000)
	assert.Less(t, allocated(40_000), 5*some)
}
