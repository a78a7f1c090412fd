package eventheader

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// encoded returns the fields of an event that has the largest limit.
func encoded(t testing.TB, add func(*Encoder)) []node {
	t.Helper()
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, maxLimit)
	add(&e)
	return requireEvent(t, end(t, &e), maxLimit)
}

// requireNumbers checks that fields are "f0": 0, "f1": 1 and so on, of which the innermost struct has at most most.
func requireNumbers(t *testing.T, nodes []node, n, most int) {
	t.Helper()
	for i := range n {
		if most == 1 && i < n-1 {
			require.Len(t, nodes, 1)
			require.Equal(t, overflowField, nodes[0].Name)
			nodes, most = nodes[0].Value.([]node), maxStructSize
		}
		require.Equal(t, node{Name: fmt.Sprint("f", i), Type: typeUint64, Value: uint64(i)}, nodes[0])
		nodes, most = nodes[1:], most-1
	}
	require.Empty(t, nodes)
}

// The OpenTelemetry SDK keeps 128 attributes by default; a struct holds 127.
func TestEncoderLosesNoAttribute(t *testing.T) {
	for _, n := range []int{1, 126, 127, 128, 129, 253, 254, 255, 256, 1000} {
		addAll := func(e *Encoder) {
			for i := range n {
				e.Value(fmt.Sprint("f", i), typeUint64, uint64(i))
			}
		}
		t.Run(fmt.Sprint("struct of ", n), func(t *testing.T) {
			nodes := encoded(t, func(e *Encoder) {
				e.BeginStruct("attributes")
				addAll(e)
				e.EndStruct()
				e.Bool("after", true)
			})
			require.Len(t, nodes, 2)
			assert.Equal(t, node{Name: "after", Type: typeBool, Value: true}, nodes[1])
			assert.Equal(t, typeOf(encStruct, Format(min(n, 127))), nodes[0].Type)
			requireNumbers(t, nodes[0].Value.([]node), n, maxStructSize)
		})
		t.Run(fmt.Sprint("event of ", n), func(t *testing.T) {
			requireNumbers(t, encoded(t, addAll), n, maxFields)
		})
	}
}

func TestEncoderOverflowsStructsWithinStructs(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.BeginStruct("outer")
		for i := range 130 {
			e.BeginStruct(fmt.Sprint("inner", i))
			for j := range 130 {
				e.Int64(fmt.Sprint("f", j), int64(j))
			}
			e.EndStruct()
		}
		e.EndStruct()
	})
	// It is cut by its size, not by the number of its fields: those that fit are whole.
	last := nodes[len(nodes)-1]
	assert.Equal(t, TruncatedField, last.Name)
	inner := nodes[0].Value.([]node)
	require.Greater(t, len(inner), 20)
	for _, n := range inner[:20] {
		children := n.Value.([]node)
		require.Len(t, children, 127)
		assert.Equal(t, overflowField, children[126].Name)
		assert.Len(t, children[126].Value, 4)
	}
}

// A struct, an array and a text that come when there are too many fields keep their types.
func TestEncoderOverflowsAllKindsOfFields(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.BeginStruct("s")
		for i := range 126 {
			e.Bool(fmt.Sprint("b", i), true)
		}
		e.BeginStruct("struct")
		e.String("text", "größe\n")
		e.EndStruct()
		e.Strings("array", []string{"a", "\""})
		e.BeginStruct("empty")
		e.EndStruct()
		e.Bytes("bytes", []byte{1, 0xff})
		e.Float64("nan", math.NaN())
		e.EndStruct()
	})
	children := nodes[0].Value.([]node)
	require.Len(t, children, 127)
	nan := children[126].Value.([]node)[3].Value.(float64)
	assert.True(t, math.IsNaN(nan))
	assert.Equal(t, []node{
		{Name: "struct", Type: typeOf(encStruct, 1), Value: []node{{Name: "text", Type: typeString, Value: `größe\n`}}},
		{Name: "array", Type: typeString, Value: []any{"a", `"`}},
		{Name: "bytes", Type: typeBytes, Value: []byte{1, 0xff}},
	}, children[126].Value.([]node)[:3])
}

func TestEncoderNesting(t *testing.T) {
	const deepest = 30
	for depth := range deepest + 2 {
		nodes := encoded(t, func(e *Encoder) {
			for i := range depth {
				e.BeginStruct(fmt.Sprint("s", i))
			}
			e.Bool("x", true)
			// End closes the structs.
		})
		if depth > deepest {
			// Nothing but the mark remains of structs without another field.
			assert.Equal(t, []node{{Name: TruncatedField, Type: typeUint16, Value: uint64(1)}}, nodes)
			break
		}
		for i := range min(depth, maxNesting) {
			require.Len(t, nodes, 1)
			require.Equal(t, fmt.Sprint("s", i), nodes[0].Name)
			nodes = nodes[0].Value.([]node)
		}
		if depth <= maxNesting {
			assert.Equal(t, []node{{Name: "x", Type: typeBool, Value: true}}, nodes)
			continue
		}
		want := `{"x":true}`
		for i := depth - 1; i > maxNesting; i-- {
			want = fmt.Sprintf(`{"s%d":%s}`, i, want)
		}
		assert.Equal(t, []node{{Name: "s8", Type: typeJSON, Value: want}}, nodes)
	}
}

func TestEncoderDropsDeepNesting(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.Bool("before", true)
		for range 1000 {
			e.BeginStruct("s")
		}
		e.Strings("no", []string{"a"})
		e.Ints("no", []int64{1})
		e.JSON("no", "1")
		e.Null("no")
		for range 1000 {
			e.EndStruct()
		}
		e.Bool("after", true)
	})
	assert.Equal(t, []node{
		{Name: "before", Type: typeBool, Value: true},
		{Name: "after", Type: typeBool, Value: true},
		{Name: TruncatedField, Type: typeUint16, Value: uint64(1)},
	}, nodes)
}

func TestStructsAfterHugeArraysAreDropped(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.Bools("array", make([]bool, 3800))
		e.BeginStruct("s")
		e.Bool("x", true)
		e.EndStruct()
		e.Bool("after", true)
	})
	assert.Len(t, nodes[0].Value, 3800)
	assert.Equal(t, []node{
		{Name: "after", Type: typeBool, Value: true},
		{Name: TruncatedField, Type: typeUint16, Value: uint64(1)},
	}, nodes[1:])
}

func TestEncoderArrays(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.Strings("strings", []string{"a", "", "größe", "bad \xff"})
		e.Ints("int64s", []int64{math.MinInt64, 1})
		e.Floats("float64s", []float64{0.5, math.Inf(1)})
		e.Bools("bools", []bool{true, false})
		e.Strings("empty", nil)
		e.Ints("empty", nil)
	})
	assert.Equal(t, []node{
		{Name: "strings", Type: typeString, Value: []any{"a", "", "größe", `bad \xff`}},
		{Name: "int64s", Type: typeInt64, Value: []any{int64(math.MinInt64), int64(1)}},
		{Name: "float64s", Type: typeFloat64, Value: []any{0.5, math.Inf(1)}},
		{Name: "bools", Type: typeBool, Value: []any{true, false}},
		{Name: "empty", Type: typeString, Value: []any{}},
		{Name: "empty", Type: typeInt64, Value: []any{}},
	}, nodes)
}

// Other decoders stop after 4096 items, so that an event must not have more.
func TestEncoderHugeArrays(t *testing.T) {
	for _, n := range []int{3000, 4000, 5000, 70_000} {
		for name, add := range map[string]func(*Encoder){
			"int64s":  func(e *Encoder) { e.Ints("a", make([]int64, n)) },
			"bools":   func(e *Encoder) { e.Bools("a", make([]bool, n)) },
			"strings": func(e *Encoder) { e.Strings("a", make([]string, n)) },
		} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				nodes := encoded(t, func(e *Encoder) {
					add(e)
					for i := range 300 {
						e.Bools(fmt.Sprint("f", i), []bool{true})
					}
					e.BeginStruct("s")
					e.Bool("x", true)
					e.EndStruct()
				})
				kept := len(nodes[0].Value.([]any))
				if n <= 3000 {
					assert.Equal(t, n, kept)
					return
				}
				assert.Greater(t, kept, 3800)
				last := nodes[len(nodes)-1]
				assert.Equal(t, TruncatedField, last.Name)
			})
		}
	}
}

func TestEncoderRepairsNames(t *testing.T) {
	tests := []struct{ name, want string }{
		{"", "_"},
		{"a", "a"},
		{"http.request.method", "http.request.method"},
		{"größe", "größe"},
		{"a b\n", "a b_"},
		{";", "_"},
		{"a;b", "a_b"},
		{"\x00", "_"},
		{"ab\x00", "ab_"},
		{"abcd\x00", "abcd_"},
		{"0123456789;123456789\x00", "0123456789_123456789_"},
		{"bad \xff\xc3", "bad __"},
		{"日本;\xe6", "日本__"},
	}
	for _, tt := range tests {
		var e Encoder
		e.Begin(nil, &Header{Name: tt.name, Level: LevelInfo}, 0)
		e.Bool(tt.name, true)
		e.BeginStruct(tt.name)
		e.Bool(tt.name, true)
		e.EndStruct()
		e.Strings(tt.name, nil)
		ev, err := Decode("p_L4K0", end(t, &e))
		require.NoError(t, err)
		nodes, err := ev.tree()
		require.NoError(t, err)
		assert.Equal(t, tt.want, ev.Name)
		assert.Equal(t, []node{
			{Name: tt.want, Type: typeBool, Value: true},
			{Name: tt.want, Type: typeOf(encStruct, 1), Value: []node{{Name: tt.want, Type: typeBool, Value: true}}},
			{Name: tt.want, Type: typeString, Value: []any{}},
		}, nodes)
	}
}

// Each position of each length is looked at, whether words overlap there or not.
func TestNamesOfEachLength(t *testing.T) {
	for n := 1; n < 60; n++ {
		if n > 10 {
			n += testscale.Count(0, 3)
		}
		names := []string{strings.Repeat("abcdefg", 9)[:n]}
		for at := range n {
			for _, c := range []byte{0, '\n', ';', 0x7f, 0x80, 0xff} {
				odd := []byte(names[0])
				odd[at] = c
				names = append(names, string(odd))
			}
		}
		for _, name := range names {
			var e Encoder
			e.Begin(nil, &Header{Name: name, Level: LevelInfo}, 0)
			e.Int64(name, 1)
			e.Bool(name, true) // now there is room to write the name in the short way
			e.Int64(name, 2)
			ev, err := Decode("p_L4K0", end(t, &e))
			require.NoError(t, err)
			nodes, err := ev.tree()
			require.NoError(t, err)
			require.Equal(t, wantName(name), ev.Name)
			require.Equal(t, []node{
				{Name: wantName(name), Type: typeInt64, Value: int64(1)},
				{Name: wantName(name), Type: typeBool, Value: true},
				{Name: wantName(name), Type: typeInt64, Value: int64(2)},
			}, nodes)
		}
	}
}

func TestEncoderRefuses(t *testing.T) {
	tests := map[string]func(*Encoder){
		"end without begin": func(e *Encoder) { e.EndStruct() },
	}
	for name, add := range tests {
		t.Run(name, func(t *testing.T) {
			var e Encoder
			e.Begin([]byte("head"), &Header{Name: "e", Level: LevelInfo}, 0)
			e.Bool("before", true)
			add(&e)
			e.Bool("after", true)
			b, err := e.End()
			assert.ErrorIs(t, err, errInvalid)
			assert.Equal(t, "head", string(b))

			// The next event has nothing of it.
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 0)
			assert.Empty(t, requireEvent(t, end(t, &e), 0))
		})
	}
}

func TestEncoderRefusesLevels(t *testing.T) {
	for _, level := range []Level{0, 6, 255} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: level}, 0)
		_, err := e.End()
		assert.ErrorIs(t, err, errInvalid)
	}
	var e Encoder
	e.Begin(nil, nil, 0)
	_, err := e.End()
	assert.ErrorIs(t, err, errInvalid)
}

func TestEncoderWithoutBegin(t *testing.T) {
	addAll := func(e *Encoder) {
		e.Bool("x", true)
		e.BeginStruct("s")
		e.JSON("x", "1")
		e.Strings("x", []string{"a"})
		e.EndStruct()
		e.Ints("x", []int64{1})
		e.BeginStruct("s")
	}
	var e Encoder
	addAll(&e)
	b, err := e.End()
	require.ErrorIs(t, err, errInvalid)
	assert.Empty(t, b)

	buf := make([]byte, 0, 100)
	e.Begin(buf, &Header{Name: "e", Level: LevelInfo}, 0)
	b = end(t, &e)
	addAll(&e)
	_, err = e.End()
	require.ErrorIs(t, err, errInvalid)
	assert.Empty(t, requireEvent(t, b, 0), "the buffer is the caller's again")
}

func TestEncoderWritesBehindWhatIsThere(t *testing.T) {
	var e Encoder
	b := []byte("head")
	for range 3 {
		e.Begin(b, &Header{Name: "e", Level: LevelInfo}, 0)
		e.String("x", "text")
		b = end(t, &e)
	}
	assert.Equal(t, "head", string(b[:4]))
	size := (len(b) - 4) / 3
	assert.Equal(t, b[4:][:size], b[4+size:][:size])
	assert.Equal(t, b[4:][:size], b[4+2*size:])
}

func TestEncoderDoesNotKeepLargeBuffers(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, maxLimit)
	for range 9 {
		e.String("x", strings.Repeat("x", maxLimit))
	}
	end(t, &e)
	assert.LessOrEqual(t, cap(e.data), maxKept)
}
