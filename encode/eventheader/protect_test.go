package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/truncate"
)

// TestProtect: fields before Protect stay, whole if they are short, until all others are dropped. Only where there is no room for them with
// their texts cut to nothing are they dropped too, from the end.
func TestProtect(t *testing.T) {
	testscale.HostOnly(t)
	h := Header{Name: "e", Level: LevelInfo}
	id, short := strings.Repeat("1", 32), strings.Repeat("s", truncate.Short)
	size := func(names ...string) (n int) {
		for _, name := range names {
			n += len(name) + typeSize - 1 + 2
		}
		return n
	}
	bare := h.minLimit(0) + size("id", "text") + len("number") + typeSize + 8 + len(id)
	whole := bare + len(short)
	for _, before := range []int{0, maxFields} { // with so many fields, protected ones are in OverflowField
		for _, text := range []string{short, strings.Repeat("long ", 1000)} {
			for limit := h.minLimit(0); limit < whole+200; limit++ {
				var e Encoder
				e.Begin(nil, &h, limit)
				for range before {
					e.BeginStruct("empty")
					e.EndStruct()
				}
				e.String("text", text)
				e.Identifier("id", id)
				e.Int64("number", 1)
				e.Protect()
				e.BeginStruct("attributes")
				for i := range 20 {
					e.Int64("n", int64(i))
					e.String("t", short)
				}
				b := end(t, &e)
				all, lost := values(requireEvent(t, b, limit))
				require.Equal(t, lost, e.Lost())
				require.Equal(t, limit >= bare, len(all["number"]) == 1, limit)
				if limit >= bare {
					require.Len(t, all["text"], 1, limit)
					require.Equal(t, []any{id}, all["id"], limit)
				}
				if len(all["n"])+len(all["t"]) > 0 || limit >= whole {
					require.True(t, text != short || all["text"][0] == short, limit)
				}
			}
		}
	}
}

// TestArraysThatAreDropped: an array of at most 64 bytes is kept or dropped like a short text, and counts once. A longer one loses
// its last elements before anything else is dropped, and each of them counts.
func TestArraysThatAreDropped(t *testing.T) {
	testscale.HostOnly(t)
	seen := map[string]bool{}
	for limit := 100; limit < 2000; limit += testscale.Count(1, 7) {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		long := make([]string, 50)
		for i := range long {
			long[i] = fmt.Sprint("element", i)
		}
		e.Strings("long", long)
		for range 20 {
			e.Strings("short", []string{"GET", "POST"})
			e.String("text", strings.Repeat("x", 100))
		}
		all, lost := values(requireEvent(t, end(t, &e), limit))
		require.Equal(t, lost, e.Lost())
		want := 20 - len(all["short[]"]) + 20 - len(all["text"])
		for _, n := range all["short[]"] {
			require.Equal(t, 2, n)
		}
		if all["long[]"] == nil {
			seen["array dropped"] = true
			want++
		} else {
			want += 50 - all["long[]"][0].(int)
		}
		if want == 0 {
			continue // texts are cut
		}
		for _, name := range []string{"text", "long"} {
			for _, v := range all[name] {
				if strings.HasSuffix(v.(string), "...") {
					want++
				}
			}
		}
		require.Equal(t, want, lost, limit)
		for i, v := range all["long"] {
			require.Equal(t, long[i], v)
		}
		if len(all["short[]"]) < 20 {
			seen["short"] = true
			require.Empty(t, all["text"])
			require.Nil(t, all["long[]"])
		} else if len(all["text"]) < 20 {
			seen["text"] = true
			require.Empty(t, all["long"])
		} else {
			seen["elements"] = true
		}
	}
	assert.Len(t, seen, 4)
}

// TestRemoteIsDroppedFirst: what is behind a long name or below the eighth level costs no other field.
func TestRemoteIsDroppedFirst(t *testing.T) {
	name := strings.Repeat("n", 300)
	for _, tt := range []struct {
		name string
		add  func(e *Encoder, number int64)
	}{
		{"long name", func(e *Encoder, n int64) { e.Int64(name, n) }},
		{"in a struct with a long name", func(e *Encoder, n int64) {
			e.BeginStruct(name)
			e.BeginStruct("s")
			e.Int64("n", n)
			e.EndStruct()
			e.EndStruct()
		}},
		{"in too many structs", func(e *Encoder, n int64) {
			for range maxNesting + 1 {
				e.BeginStruct(fmt.Sprint("s", name[:30]))
			}
			e.Int64("n", n)
			e.String("t", name)
			for range maxNesting + 1 {
				e.EndStruct()
			}
		}},
	} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 1000)
		for i := range 5 {
			tt.add(&e, int64(i))
		}
		for i := range 30 {
			e.Int64("number", int64(i))
		}
		addEssentials(&e)
		all, lost := values(requireEvent(t, end(t, &e), 1000))
		requireEssentials(t, all)
		assert.Len(t, all["number"], 30, tt.name)
		assert.Equal(t, lost, e.Lost())
		assert.Positive(t, lost, tt.name)
	}
}
