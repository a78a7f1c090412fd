package eventheader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLost: the encoder says what the event says.
func TestLost(t *testing.T) {
	var e Encoder
	for _, size := range []int{0, 100, 150, 200, 1000, 0} {
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
		for _, name := range []string{"a", "b", "c"} {
			e.String(name, strings.Repeat("x", size))
		}
		payload, err := e.End()
		require.NoError(t, err)
		ev, err := Decode("p_L4K1", payload)
		require.NoError(t, err)
		nodes, err := ev.tree()
		require.NoError(t, err)
		said := uint64(0)
		if last := nodes[len(nodes)-1]; last.Name == TruncatedField {
			said = last.Value.(uint64)
		}
		assert.EqualValues(t, said, e.Lost(), size)
		assert.Equal(t, size >= 100, e.Lost() > 0, size)
	}
}

// TestLostForTheNumberOfItems: what does not fit the number of items that decoders take is counted: elements of texts each, an array of
// numbers once, as what is cut.
func TestLostForTheNumberOfItems(t *testing.T) {
	const room = maxItems - maxFields
	for _, tt := range []struct {
		name string
		add  func(e *Encoder)
		want int
	}{
		{"numbers that fit", func(e *Encoder) { Ints(e, "a", make([]int8, room-1)) }, 0},
		{"one number too many", func(e *Encoder) { Ints(e, "a", make([]int8, room)) }, 1},
		{"many numbers too many", func(e *Encoder) { Ints(e, "a", make([]int8, 2*room)) }, 1},
		{"texts that fit", func(e *Encoder) { e.Strings("a", make([]string, room-1)) }, 0},
		{"three texts too many", func(e *Encoder) { e.Strings("a", make([]string, room+2)) }, 3},
		{"another array", func(e *Encoder) {
			Ints(e, "a", make([]int8, room-1))
			Ints(e, "b", []int8{})
			e.Strings("c", nil)
		}, 2},
		{"a struct", func(e *Encoder) {
			Ints(e, "a", make([]int8, room-1))
			e.BeginStruct("s")
			e.Bool("b", true)
			e.EndStruct()
		}, 1},
		{"too many fields and no items for another struct", func(e *Encoder) {
			Ints(e, "a", make([]int8, room-1))
			for range maxFields + 5 {
				e.Bool("b", true)
			}
		}, 6},
	} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, maxLimit)
		tt.add(&e)
		payload := end(t, &e)
		_, lost := values(requireEvent(t, payload, maxLimit))
		assert.Equal(t, tt.want, lost, tt.name)
		assert.Equal(t, tt.want, e.Lost(), tt.name)
	}
}

// TestLostInNumbers: an array of numbers that is larger than the limit is cut, which counts once.
func TestLostInNumbers(t *testing.T) {
	h := Header{Name: "e", Level: LevelInfo}
	for _, n := range []int{20, 30, 40, 1000} {
		var e Encoder
		e.Begin(nil, &h, 300)
		Ints(&e, "numbers", make([]int64, n))
		payload := end(t, &e)
		all, lost := values(requireEvent(t, payload, 300))
		if n == 20 || n == 30 {
			assert.Equal(t, []any{n}, all["numbers[]"])
			assert.Zero(t, lost)
			continue
		}
		assert.Equal(t, 1, lost)
		assert.Equal(t, []any{(300 - h.minLimit(0) - len("numbers") - typeSize - 2) / 8}, all["numbers[]"])
	}
}
