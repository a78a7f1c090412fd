package eventheader

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded returns the fields of a record, or its error.
func recorded(t testing.TB, limit int, fields []Field, put func(*Record)) ([]Node, error) {
	t.Helper()
	var r Record
	r.Begin([]byte("head"), mustSchema(t, Header{Name: "e", Level: LevelInfo}, fields...), limit)
	put(&r)
	b, err := r.End()
	if err != nil {
		require.Equal(t, "head", string(b))
		return nil, err
	}
	return requireEvent(t, b[4:], limit), nil
}

// Each method, and what it adds to a field that it does not fit.
var puts = map[string]func(*Record){
	"Uint 1":     func(r *Record) { r.Uint(1) },
	"Uint max":   func(r *Record) { r.Uint(math.MaxUint64) },
	"Int 1":      func(r *Record) { r.Int(1) },
	"Int -1":     func(r *Record) { r.Int(-1) },
	"Float":      func(r *Record) { r.Float(1) },
	"Bool":       func(r *Record) { r.Bool(true) },
	"String":     func(r *Record) { r.String("a") },
	"Bytes of 1": func(r *Record) { r.Bytes([]byte{1}) },
	"Bytes of 4": func(r *Record) { r.Bytes([]byte{1, 2, 3, 4}) },
	"Null":       func(r *Record) { r.Null() },
	"Count":      func(r *Record) { r.Count(0) },
}

func TestRecordTakesWhatFits(t *testing.T) {
	tests := []struct {
		field Field
		takes string
	}{
		{Field{Type: TypeUint64}, "Uint 1, Uint max, Int 1"},
		{Field{Type: TypeInt64}, "Uint 1, Int 1, Int -1"},
		{Field{Type: TypeUint8}, "Uint 1, Int 1"},
		{Field{Type: TypeInt8}, "Uint 1, Int 1, Int -1"},
		{Field{Type: TypeTime}, "Uint 1, Int 1, Int -1"},
		{Field{Type: TypeErrno}, "Uint 1, Int 1, Int -1"},
		{Field{Type: TypePort}, "Uint 1, Int 1"},
		{Field{Type: TypeOf(Value32, FormatUTF)}, "Uint 1, Int 1"},
		{Field{Type: TypeFloat64}, "Float"},
		{Field{Type: TypeFloat32}, "Float"},
		{Field{Type: TypeBool}, "Bool"},
		{Field{Type: TypeOf(Value32, FormatBool)}, "Bool"},
		{Field{Type: TypeString}, "String"},
		{Field{Type: TypeJSON}, "String"},
		{Field{Type: TypeOf(ZString16, FormatHexBytes)}, "String"},
		{Field{Type: TypeBytes}, "Bytes of 1, Bytes of 4"},
		{Field{Type: TypeOf(String8, FormatHexBytes)}, "Bytes of 1, Bytes of 4"},
		{Field{Type: TypeIPv4}, "Bytes of 4"},
		{Field{Type: TypeOf(Value8, FormatHexBytes)}, "Bytes of 1"},
		{Field{Type: TypeUUID}, ""},
		{Field{Type: TypeOf(Binary, FormatSigned)}, "Uint 1, Int 1, Int -1, Bytes of 1, Bytes of 4, Null"},
		{Field{Type: TypeOf(Binary, FormatBool)}, "Bool, Bytes of 1, Bytes of 4, Null"},
		{Field{Type: TypeOf(Binary, FormatFloat)}, "Float, Bytes of 4, Null"},
		{Field{Type: TypeOf(String8, FormatUUID)}, "Null"},
		{Field{Type: TypeOf(Binary, FormatIP)}, "Bytes of 4, Null"},
		{Field{Type: TypeInt64, Array: Variable}, "Count"},
		{Field{Type: TypeStruct, Array: Variable, Fields: []Field{{Name: "a", Type: TypeBool}}}, "Count"},
	}
	for _, tt := range tests {
		tt.field.Name = "x"
		for name, put := range puts {
			_, err := recorded(t, 0, []Field{tt.field}, put)
			if strings.Contains(tt.takes+",", name+",") {
				assert.NoError(t, err, "%v %s", tt.field.Type, name)
			} else if assert.ErrorIs(t, err, ErrInvalid, "%v %s", tt.field.Type, name) {
				assert.ErrorContains(t, err, `"x"`)
			}
		}
	}
}

func TestRecordRanges(t *testing.T) {
	for _, e := range []Encoding{Value8, Value16, Value32} {
		top := int64(1)<<(8*e.size()) - 1
		for _, tt := range []struct {
			format Format
			v      int64
			ok     bool
		}{
			{FormatUnsigned, top, true},
			{FormatUnsigned, top + 1, false},
			{FormatUnsigned, -1, false},
			{FormatSigned, top / 2, true},
			{FormatSigned, top/2 + 1, false},
			{FormatSigned, -top/2 - 1, true},
			{FormatSigned, -top/2 - 2, false},
		} {
			fields := []Field{{Name: "x", Type: TypeOf(e, tt.format)}}
			_, err := recorded(t, 0, fields, func(r *Record) { r.Int(tt.v) })
			assert.Equal(t, tt.ok, err == nil, "%v %d", fields[0].Type, tt.v)
			if tt.v >= 0 {
				_, err = recorded(t, 0, fields, func(r *Record) { r.Uint(uint64(tt.v)) })
				assert.Equal(t, tt.ok, err == nil, "%v %d", fields[0].Type, tt.v)
			}
		}
	}
}

// Zero is a number like any other: neither a null nor false.
func TestRecordTakesZeroAsANumber(t *testing.T) {
	for _, typ := range []Type{
		TypeOf(Binary, FormatBool), TypeOf(Binary, FormatFloat), TypeOf(Binary, FormatUUID), TypeOf(Binary, FormatIP),
		TypeFloat64, TypeBool, TypeUUID, TypeString, TypeBytes,
	} {
		for _, put := range []func(*Record){func(r *Record) { r.Uint(0) }, func(r *Record) { r.Int(0) }} {
			_, err := recorded(t, 0, []Field{{Name: "x", Type: typ}}, put)
			assert.ErrorIs(t, err, ErrInvalid)
		}
	}
}

func TestRecordOutOfStep(t *testing.T) {
	fields := []Field{
		{Name: "a", Type: TypeInt64},
		{Name: "list", Type: TypeStruct, Array: Variable, Fields: []Field{{Name: "b", Type: TypeInt64}}},
		{Name: "pair", Type: TypeInt64, Array: 2},
	}
	tests := map[string]struct {
		put  func(*Record)
		want string
	}{
		"nothing":          {func(*Record) {}, `no value for field "a"`},
		"no count":         {func(r *Record) { r.Int(1); r.Int(1) }, `field "list": the number 1 where the number of elements belongs`},
		"negative count":   {func(r *Record) { r.Int(1); r.Count(-1) }, `-1 elements`},
		"element missing":  {func(r *Record) { r.Int(1); r.Count(2); r.Int(1) }, `no value for field "list.b"`},
		"half a pair":      {func(r *Record) { r.Int(1); r.Count(0); r.Int(1) }, `no value for field "pair"`},
		"one too many":     {func(r *Record) { r.Int(1); r.Count(0); r.Int(1); r.Int(1); r.Int(1) }, "after the last field"},
		"count of a value": {func(r *Record) { r.Count(1) }, `field "a": type value64 signed does not take 1 elements`},
		"the first error":  {func(r *Record) { r.String("x"); r.Int(1); r.Count(-1) }, `does not take a text`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := recorded(t, 0, fields, tt.put)
			assert.ErrorIs(t, err, ErrInvalid)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRecordWithoutBegin(t *testing.T) {
	var r Record
	_, err := r.End()
	assert.ErrorIs(t, err, ErrInvalid)
	for range 2 {
		for _, put := range puts {
			put(&r)
		}
		b, err := r.End()
		assert.ErrorIs(t, err, ErrInvalid)
		assert.Empty(t, b)

		// Nothing remains of it.
		_, err = fiveRecord(&r, fiveSchema(t), nil)
		assert.NoError(t, err)
	}
}

func TestRecordWithoutSchema(t *testing.T) {
	for _, s := range []*Schema{nil, {}} {
		var r Record
		r.Begin([]byte("head"), s, 0, sequence(1))
		for _, put := range puts {
			put(&r)
		}
		b, err := r.End()
		assert.ErrorIs(t, err, ErrInvalid)
		assert.Equal(t, "head", string(b))
	}
}

func TestRecordNeedsRoomForItsSchema(t *testing.T) {
	fields := []Field{{Name: "x", Type: TypeString}, {Name: "n", Type: TypeOf(Binary, FormatUUID)}}
	fitted := 0
	for limit := 1; limit < 100; limit++ {
		_, err := recorded(t, limit, fields, func(r *Record) { r.String(strings.Repeat("x", 100)); r.Null() })
		if err != nil {
			assert.ErrorIs(t, err, ErrTooLarge)
			assert.Zero(t, fitted, "%d bytes are too few, fewer are not", limit)
			continue
		}
		fitted++
	}
	assert.NotZero(t, fitted)
}

// Elements that do not fit are taken and dropped, whatever they contain.
func TestRecordDropsElements(t *testing.T) {
	fields := []Field{
		{Name: "list", Type: TypeStruct, Array: Variable, Fields: []Field{
			{Name: "n", Type: TypeInt64},
			{Name: "inner", Type: TypeString, Array: Variable},
			{Name: "pair", Type: TypeOf(ZString8, FormatUTF), Array: 2},
		}},
		{Name: "after", Type: TypeString, Array: Variable},
	}
	nodes, err := recorded(t, 1000, fields, func(r *Record) {
		r.Count(500)
		for i := range 500 {
			r.Int(int64(i))
			r.Count(3)
			r.String("a")
			r.String("b")
			r.String("c")
			r.String("d\x00")
			r.String("e\x00")
		}
		r.Count(2)
		r.String("f")
		r.String("g")
	})
	require.NoError(t, err)
	list := nodes[0].Value.([]any)
	require.Greater(t, len(list), 40)
	require.Less(t, len(list), 500)
	for i, element := range list {
		assert.Equal(t, int64(i), element.([]Node)[0].Value)
	}
	assert.Equal(t, TruncatedField, nodes[2].Name)
	// Five texts of each element that is there were cut, and elements dropped once per array.
	assert.LessOrEqual(t, nodes[2].Value, uint64(5*len(list)+10))
}

func TestRecordItems(t *testing.T) {
	fields := []Field{
		{Name: "list", Type: TypeStruct, Array: Variable, Fields: []Field{
			{Name: "a", Type: TypeBool},
			{Name: "b", Type: TypeBool, Array: Variable},
		}},
		{Name: "after", Type: TypeBool, Array: Variable},
	}
	for _, n := range []int{100, 1000, 5000} {
		nodes, err := recorded(t, MaxLimit, fields, func(r *Record) {
			r.Count(n)
			for range n {
				r.Bool(true)
				r.Count(1)
				r.Bool(false)
			}
			r.Count(n)
			for range n {
				r.Bool(true)
			}
		})
		require.NoError(t, err)
		list, after := nodes[0].Value.([]any), nodes[1].Value.([]any)
		if n == 100 {
			assert.Len(t, nodes, 2)
			assert.Len(t, list, n)
			assert.Len(t, after, n)
			continue
		}
		assert.Equal(t, TruncatedField, nodes[2].Name)
		assert.Greater(t, len(list), 500)
	}
}

// A record is in the same order as the event, so that both have the longest ways to say a number.
func TestRecordInTheOtherOrder(t *testing.T) {
	for _, arch := range archs {
		s := mustSchema(t, Header{Name: "e", Level: LevelInfo, Arch: arch}, Field{Name: "x", Type: TypeUint16}, Field{Name: "y", Type: TypePort})
		b := record(t, s, func(r *Record) { r.Uint(0x1234); r.Int(443) })
		_, o := arch.flags()
		assert.Equal(t, append(o.append16(nil, 0x1234), 1, 187), b[len(b)-4:])
	}
}

func TestSchemaIsShared(t *testing.T) {
	s := fiveSchema(t)
	want, err := fiveRecord(new(Record), s, nil)
	require.NoError(t, err)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var r Record
			for range 100 {
				b, err := fiveRecord(&r, s, nil)
				require.NoError(t, err)
				require.Equal(t, want, b)
			}
		})
	}
}
