package eventheader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/truncate"
)

const (
	theStatus = int64(503)
	theError  = "connection refused"
	theID     = "0af7651916cd43dd8448eb211c80319c"
)

// addEssentials adds what every event must keep.
func addEssentials(e *Encoder) {
	e.Int64("status", theStatus)
	e.String("error", theError)
	e.String("trace_id", theID)
}

// values returns all values of fields and elements by name, and the number of those that TruncatedField counts.
func values(nodes []node) (all map[string][]any, lost int) {
	all = map[string][]any{}
	var visit func(name string, v any)
	visit = func(name string, v any) {
		switch v := v.(type) {
		case []node:
			for _, n := range v {
				visit(n.Name, n.Value)
			}
		case []any:
			for _, v := range v {
				visit(name, v)
			}
			all[name+"[]"] = append(all[name+"[]"], len(v))
		default:
			all[name] = append(all[name], v)
		}
	}
	visit("", nodes)
	if last := all[TruncatedField]; last != nil {
		lost = int(last[0].(uint64))
	}
	return all, lost
}

// requireEssentials checks that an event has them, whole and once.
func requireEssentials(t *testing.T, all map[string][]any) {
	t.Helper()
	require.Equal(t, []any{theStatus}, all["status"])
	require.Equal(t, []any{theError}, all["error"])
	require.Equal(t, []any{theID}, all["trace_id"])
}

var fairLimits = []int{defaultLimit, 1024, 300}

// TestLongTextsAreCutToEqualShares: wherever long texts stand, they and nothing else are cut, and to the same length.
func TestLongTextsAreCutToEqualShares(t *testing.T) {
	long := strings.Repeat("x", 7000)
	tests := []struct {
		name  string
		longs int
		add   func(e *Encoder)
	}{
		{"first", 1, func(e *Encoder) { e.String("long", long); addEssentials(e) }},
		{"middle", 1, func(e *Encoder) {
			e.Int64("status", theStatus)
			e.String("long", long)
			e.String("error", theError)
			e.String("trace_id", theID)
		}},
		{"last", 1, func(e *Encoder) { addEssentials(e); e.String("long", long) }},
		{"in a group", 1, func(e *Encoder) {
			e.BeginStruct("group")
			e.String("long", long)
			e.EndStruct()
			addEssentials(e)
		}},
		{"message before the group of the others", 1, func(e *Encoder) {
			e.String("long", long)
			e.BeginStruct("attributes")
			addEssentials(e)
			e.EndStruct()
		}},
		{"in an array", 1, func(e *Encoder) {
			e.Strings("long", []string{"GET", long, "POST"})
			addEssentials(e)
		}},
		{"two elements", 2, func(e *Encoder) {
			e.Strings("long", []string{long, "GET", long})
			addEssentials(e)
		}},
		{"two", 2, func(e *Encoder) { e.String("long", long); addEssentials(e); e.String("long", long) }},
		{"two in groups", 2, func(e *Encoder) {
			e.BeginStruct("group")
			e.String("long", long)
			e.EndStruct()
			e.BeginStruct("group")
			addEssentials(e)
			e.String("long", long)
			e.EndStruct()
		}},
	}
	for _, tt := range tests {
		for _, limit := range fairLimits {
			t.Run(fmt.Sprint(tt.name, " in ", limit), func(t *testing.T) {
				var e Encoder
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				tt.add(&e)
				b := end(t, &e)
				all, lost := values(requireEvent(t, b, limit))
				requireEssentials(t, all)
				assert.Equal(t, tt.longs, lost)
				assert.Equal(t, tt.longs, e.Lost())
				assert.Greater(t, len(b), limit-tt.longs, "room is left")
				cut := slices.DeleteFunc(all["long"], func(v any) bool { return v == "GET" || v == "POST" })
				require.Len(t, cut, tt.longs)
				for _, v := range cut {
					assert.Len(t, v, len(cut[0].(string)))
					assert.True(t, isCut(v.(string), long))
				}
			})
		}
	}
}

// TestManyAttributes: of 300 attributes numbers, errors and ids stay, wherever they stand; the others are cut, or dropped in
// the middle where there is no room for them.
func TestManyAttributes(t *testing.T) {
	for _, in := range []string{"the event", "a struct", "a struct in structs"} {
		for _, at := range []int{0, 150, 300} {
			for _, limit := range fairLimits {
				t.Run(fmt.Sprint("in ", in, " at ", at, " in ", limit), func(t *testing.T) {
					var e Encoder
					e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
					depth := map[string]int{"the event": 0, "a struct": 1, "a struct in structs": 6}[in]
					for range depth {
						e.BeginStruct("attributes")
					}
					for i := range 301 {
						if i == at {
							addEssentials(&e)
						}
						if i < 300 {
							e.String(fmt.Sprintf("key%03d", i), strings.Repeat("x", 100))
						}
					}
					b := end(t, &e)
					all, lost := values(requireEvent(t, b, limit))
					requireEssentials(t, all)
					assert.Equal(t, lost, e.Lost())
					assert.Equal(t, 300, lost, "each was cut or dropped")
					kept, runs := 0, 0 // of those that are dropped
					for i := range 300 {
						v := all[fmt.Sprintf("key%03d", i)]
						if v == nil {
							if i == 0 || all[fmt.Sprintf("key%03d", i-1)] != nil {
								runs++
							}
							continue
						}
						require.Len(t, v, 1)
						assert.Equal(t, all["key299"], v, "equal shares")
						assert.True(t, isCut(v[0].(string), strings.Repeat("x", 100)))
						kept++
					}
					assert.NotNil(t, all["key299"], "the last ones stay")
					assert.LessOrEqual(t, runs, 1, "those in the middle are dropped")
					names := 3 + 1 // the essentials and the mark
					assert.Len(t, all, names+kept)
					assert.GreaterOrEqual(t, kept, limit/50)
					assert.Greater(t, len(b), limit-len("key000")-typeSize-2-least-depth*len("attributes\x00\x01\x01")-3*(len(overflowField)+typeSize), "room is left")
				})
			}
		}
	}
}

// stay is how many values of a class stay until those before them have been dropped.
const stay = 8

// requireMiddleDropped checks which of n values are left: the first ones and the last ones, and of these all, unless all before them are
// dropped.
func requireMiddleDropped(t *testing.T, n int, got []any, value func(i int) any) {
	t.Helper()
	first := max(0, len(got)-stay)
	for i, v := range got {
		if i >= first {
			i += n - len(got)
		}
		require.EqualValues(t, value(i), v)
	}
}

// TestWhatIsDropped: elements of long arrays first, then long texts and arrays, then short ones, then the rest, but the last ones of each class
// later; and all of it is counted.
func TestWhatIsDropped(t *testing.T) {
	testscale.HostOnly(t)
	const n = 20
	seen := map[string]bool{}
	for limit := 40; limit < 10_000; limit += 1 + limit/100 {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		for i := range n {
			e.String("long", strings.Repeat("x", 200))
			e.String("short", fmt.Sprint("short", i))
			e.Int64("number", int64(i))
			e.Strings("array", []string{"", strings.Repeat("x", 200), "short"})
		}
		b := end(t, &e)
		all, lost := values(requireEvent(t, b, limit))
		long, short, numbers, arrays := len(all["long"]), len(all["short"]), len(all["number"]), len(all["array[]"])
		requireMiddleDropped(t, n, all["number"], func(i int) any { return i })
		want := n - long + n - short + n - numbers + n - arrays
		elements := 0
		for _, count := range all["array[]"] {
			elements += count.(int)
			want += 3 - count.(int)
		}
		for _, texts := range [][]any{all["long"], all["short"], all["array"]} {
			for _, v := range texts {
				if strings.HasSuffix(v.(string), "...") {
					want++
				}
			}
		}
		require.Equal(t, want, lost, limit)
		require.Equal(t, lost, e.Lost(), limit)
		state := ""
		switch {
		case lost == 0:
			state = "whole"
		case numbers < stay:
			state = "the last numbers are dropped"
			assert.Zero(t, short, limit)
		case short < stay:
			state = "the last short texts are dropped"
			assert.Equal(t, stay, numbers, limit)
		case numbers < n:
			state = "numbers are dropped"
			assert.Equal(t, stay, short, limit)
		case short < n:
			state = "short texts are dropped"
			assert.Zero(t, long+arrays, limit)
		case long+arrays < 2*n:
			state = "long texts are dropped"
			assert.Zero(t, elements, limit)
		case elements < 3*n:
			state = "elements are dropped"
		default:
			state = "texts are cut"
		}
		if lost > 0 && (long+arrays < 2*n || elements < 3*n) {
			requireMiddleDropped(t, n, all["short"], func(i int) any { return fmt.Sprint("short", i) })
		}
		seen[state] = true
	}
	assert.Len(t, seen, 8, "each happened")
}

// TestNoMoreIsDroppedThanMust: of texts of more than 64 bytes as many stay as there is room for beside one of 64 bytes, and they share what
// is left. Some numbers stay as long as there is room for them, whatever texts there are.
func TestNoMoreIsDroppedThanMust(t *testing.T) {
	const n = 20
	h := Header{Name: "e", Level: LevelInfo}
	short := strings.Repeat("s", truncate.Short)
	const perText, perNumber = len("t") + typeSize - 1 + 2 + least, len("n") + typeSize + 8
	const legible = 8                                                 // bytes of each text are better than that some are dropped
	texts := h.minLimit(0) + len("s") + typeSize - 1 + 2 + len(short) // from where on there is room for texts
	for limit := h.minLimit(0); limit < texts+n*perText+100; limit++ {
		var e Encoder
		e.Begin(nil, &h, limit)
		for range n {
			e.String("t", short+"t")
		}
		e.String("s", short)
		all, lost := values(requireEvent(t, end(t, &e), limit))
		if limit >= texts {
			require.Equal(t, []any{short}, all["s"], limit)
			kept := min((limit-texts)/perText, n)
			require.Len(t, all["t"], kept, limit)
			for _, v := range all["t"] {
				require.Len(t, v, least+(limit-texts-kept*perText)/kept, limit)
			}
		} else {
			require.LessOrEqual(t, len(all["s"]), 1)
		}
		require.Equal(t, e.Lost(), lost)

		e.Begin(nil, &h, limit)
		for i := range n {
			e.Int64("n", int64(i))
			e.String("t", short)
		}
		all, _ = values(requireEvent(t, end(t, &e), limit))
		if limit-h.minLimit(0) >= n*(perNumber+perText-least+legible) {
			require.Len(t, all["n"], n, limit)
		} else {
			require.Len(t, all["n"], min((limit-h.minLimit(0))/perNumber, stay), limit)
		}
	}
}

// TestNamesBeyondTheLimit: a name for which there cannot be room costs nothing but its own field, or its own struct.
func TestNamesBeyondTheLimit(t *testing.T) {
	name := strings.Repeat("n", 301)
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
	for range 100 {
		e.String(name, "v")
	}
	e.BeginStruct(name)
	addEssentials(&e)
	e.EndStruct()
	assert.Less(t, len(e.meta), 100, "they take no memory")
	addEssentials(&e)
	all, lost := values(requireEvent(t, end(t, &e), 300))
	requireEssentials(t, all)
	assert.Equal(t, 101, lost)
}
