package eventheader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
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
		{"two elements", 1, func(e *Encoder) {
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
				assert.Greater(t, len(b), limit-2, "space is left")
				cut := slices.DeleteFunc(all["long"], func(v any) bool { return v == "GET" || v == "POST" })
				if tt.name != "two elements" { // of one array
					require.Len(t, cut, tt.longs)
				}
				for _, v := range cut {
					assert.Len(t, v, len(cut[0].(string)))
					assert.True(t, isCut(v.(string), long))
				}
			})
		}
	}
}

// TestManyAttributes: of 300 attributes, the first ones stay, with at least 64 bytes of their texts, wherever they are.
func TestManyAttributes(t *testing.T) {
	const length = 100
	for _, in := range []string{"the event", "a struct", "a struct in structs"} {
		for _, limit := range fairLimits {
			t.Run(fmt.Sprint("in ", in, " in ", limit), func(t *testing.T) {
				var e Encoder
				e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
				depth := map[string]int{"the event": 0, "a struct": 1, "a struct in structs": 6}[in]
				for range depth {
					e.BeginStruct("attributes")
				}
				addEssentials(&e)
				for i := range 300 {
					e.String(fmt.Sprintf("key%03d", i), strings.Repeat("x", length))
				}
				b := end(t, &e)
				all, lost := values(requireEvent(t, b, limit))
				requireEssentials(t, all)
				assert.Equal(t, lost, e.Lost())
				assert.Equal(t, 300, lost, "each was cut or dropped")
				kept := len(all) - 4 // the essentials and the mark
				for i := range kept {
					v := all[fmt.Sprintf("key%03d", i)]
					require.Len(t, v, 1)
					assert.Equal(t, all["key000"], v, "equal shares")
					assert.True(t, isCut(v[0].(string), strings.Repeat("x", length)))
					assert.GreaterOrEqual(t, len(v[0].(string)), truncate.Short)
				}
				assert.Greater(t, len(b), limit-max(kept, fieldSize("key000", truncate.Short)), "space is left")
			})
		}
	}
}

// fieldSize returns the size of a field with a text of n bytes.
func fieldSize(name string, n int) int { return len(name) + typeSize - 1 + 2 + n }

// TestWhatIsDropped: a field stays if it fits behind those before it, with 64 bytes of its text or array.
func TestWhatIsDropped(t *testing.T) {
	testscale.HostOnly(t)
	const n = 20
	h := Header{Name: "e", Level: LevelInfo}
	lengths := []int{200, 5, truncate.Short, truncate.Short + 1}
	for limit := h.minLimit(); limit < 10_000; limit += 1 + limit/100 {
		var e Encoder
		e.Begin(nil, &h, limit)
		free := limit - h.minLimit()
		fits := func(size int) bool {
			if size > free {
				return false
			}
			free -= size
			return true
		}
		want := map[string]bool{}
		whole := 0
		for i := range n {
			for j, length := range lengths {
				name := fmt.Sprintf("%02dt%d", i, j)
				e.String(name, strings.Repeat("x", length))
				want[name] = fits(fieldSize(name, min(length, truncate.Short)))
				whole += fieldSize(name, length)
			}
			name := fmt.Sprintf("%02dn", i)
			e.Int64(name, int64(i))
			want[name] = fits(len(name) + typeSize + 8)
			whole += len(name) + typeSize + 8
			name = fmt.Sprintf("%02da", i)
			e.Ints(name, make([]int64, 50))
			want[name] = fits(len(name) + typeSize + 2 + truncate.Short)
			whole += len(name) + typeSize + 2 + 8*50
		}
		if whole <= limit-h.minLimit()+truncatedSize {
			continue
		}
		b := end(t, &e)
		all, lost := values(requireEvent(t, b, limit))
		require.Equal(t, lost, e.Lost(), limit)
		cut := 0
		for name, stays := range want {
			require.Equal(t, stays, len(all[name]) > 0, "%s in %d", name, limit)
			if !stays {
				lost--
				continue
			}
			text, _ := all[name][0].(string)
			if strings.HasSuffix(text, "...") || all[name+"[]"] != nil && all[name+"[]"][0].(int) < 50 {
				require.False(t, len(text) > 0 && len(text) < truncate.Short, limit)
				cut++
			}
		}
		require.Equal(t, cut, lost, limit)
	}
}

// TestArraysOfTexts: an array of texts is one value. Its texts are cut to equal shares, but to no less than 64 bytes:
// then the mark takes the place of the last ones.
func TestArraysOfTexts(t *testing.T) {
	h := Header{Name: "e", Level: LevelInfo}
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = strings.Repeat("x", 200)
	}
	start := h.minLimit() + len("a") + typeSize - 1 + 2
	for limit := start + truncate.Short; limit < start+20*202-truncatedSize; limit++ {
		var e Encoder
		e.Begin(nil, &h, limit)
		e.Strings("a", texts)
		b := end(t, &e)
		all, lost := values(requireEvent(t, b, limit))
		require.Equal(t, 1, lost)
		got := all["a"]
		if free := limit - start; free >= 20*(2+truncate.Short) {
			require.Len(t, got, 20, limit)
			for _, v := range got {
				require.Len(t, v, free/20-2, limit)
			}
			continue
		}
		require.Less(t, limit-len(b), 2+truncate.Short)
		require.Equal(t, text.CutMark, got[len(got)-1])
		for _, v := range got[:len(got)-1] {
			require.Equal(t, strings.Repeat("x", truncate.Short-len(text.CutMark))+text.CutMark, v, limit)
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
