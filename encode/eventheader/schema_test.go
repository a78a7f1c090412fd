package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nested returns a field of so many structs within structs.
func nested(levels int) Field {
	f := Field{Name: "x", Type: TypeBool}
	for i := range levels {
		f = Field{Name: fmt.Sprint("s", i), Type: TypeStruct, Fields: []Field{f}}
	}
	return f
}

func fieldsOf(n int, t Type) []Field {
	fields := make([]Field, n)
	for i := range fields {
		fields[i] = Field{Name: fmt.Sprint("f", i), Type: t}
	}
	return fields
}

func TestNewSchemaRefuses(t *testing.T) {
	ok := Header{Name: "e", Level: LevelInfo}
	one := func(f Field) []Field { return []Field{{Name: "a", Type: TypeBool}, f} }
	tests := map[string]struct {
		header Header
		fields []Field
		want   string
	}{
		"level 0":            {Header{Name: "e"}, nil, "level 0 is not between 1 and 5"},
		"level 6":            {Header{Name: "e", Level: 6}, nil, "level 6"},
		"no event name":      {Header{Level: LevelInfo}, nil, "empty name"},
		"long event name":    {Header{Name: strings.Repeat("x", 256), Level: LevelInfo}, nil, "256 bytes long, the limit is 255"},
		"event name":         {Header{Name: "a;b", Level: LevelInfo}, nil, "semicolon"},
		"no field name":      {ok, one(Field{Type: TypeBool}), `field "": invalid EventHeader event: empty name`},
		"NUL":                {ok, one(Field{Name: "a\x00", Type: TypeBool}), "NUL"},
		"not UTF-8":          {ok, one(Field{Name: "a\xff", Type: TypeBool}), "is not UTF-8"},
		"long field name":    {ok, one(Field{Name: strings.Repeat("x", 256), Type: TypeBool}), "the limit is 255"},
		"no type":            {ok, one(Field{Name: "x"}), `field "x"`},
		"reserved encoding":  {ok, one(Field{Name: "x", Type: TypeOf(14, 0)}), "does not exist"},
		"array in type":      {ok, one(Field{Name: "x", Type: TypeOf(Value8|flagVariable, 0)}), "does not exist"},
		"old address":        {ok, one(Field{Name: "x", Type: TypeOf(Binary, formatOldIP)}), "type binary oldip does not exist"},
		"format":             {ok, one(Field{Name: "x", Type: TypeOf(Value64, FormatPID)}), "type value64 pid does not exist"},
		"format of a struct": {ok, one(Field{Name: "x", Type: TypeOf(Struct, 1)}), "does not exist"},
		"array of -2":        {ok, one(Field{Name: "x", Type: TypeBool, Array: -2}), "array of -2 elements"},
		"array of 65536":     {ok, one(Field{Name: "x", Type: TypeBool, Array: 65536}), "array of 65536 elements"},
		"long array":         {ok, one(Field{Name: "x", Type: TypeBool, Array: 4094}), "item 4097, decoders take 4094"},
		"long array of structs": {
			ok, one(Field{Name: "x", Type: TypeStruct, Array: 4000, Fields: fieldsOf(127, TypeBool)}), `field "x": item`,
		},
		"array of long arrays": {
			ok, one(Field{Name: "x", Type: TypeStruct, Array: 65535, Fields: []Field{{Name: "y", Type: TypeBool, Array: 65535}}}), `field "x.y": item`,
		},
		"children of a value": {ok, one(Field{Name: "x", Type: TypeBool, Fields: fieldsOf(1, TypeBool)}), "type value8 bool has no children"},
		"no children":         {ok, one(Field{Name: "x", Type: TypeStruct}), "0 children, a struct has 1 to 127"},
		"128 children":        {ok, one(Field{Name: "x", Type: TypeStruct, Fields: fieldsOf(128, TypeBool)}), "128 children"},
		"9 levels":            {ok, one(nested(9)), `field "s8.s7.s6.s5.s4.s3.s2.s1.s0": `},
		"255 fields":          {ok, fieldsOf(255, TypeBool), "255 fields, the limit is 254"},
		"too large":           {ok, []Field{{Name: "x", Type: TypeUUID, Array: 4092}, {Name: "y", Type: TypeBool}}, "bytes at least, the limit is 65467"},
		"too large in all":    {ok, one(Field{Name: "x", Type: TypeUUID, Array: 4090}), "bytes at least, the limit is 65467"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := NewSchema(tt.header, tt.fields...)
			assert.Nil(t, s)
			assert.ErrorIs(t, err, ErrInvalid)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestNewSchemaTakesTheLimits(t *testing.T) {
	name := strings.Repeat("é", 127) + "x"
	for _, fields := range [][]Field{
		nil,
		fieldsOf(254, TypeBool),
		{nested(8)},
		{{Name: name, Type: TypeStruct, Fields: fieldsOf(127, TypeBool)}},
		{{Name: "x", Type: TypeBool, Array: 4092}},
		{{Name: "http.request.method", Type: TypeString}, {Name: "a b", Type: TypeString}, {Name: "a b", Type: TypeString}},
	} {
		s, err := NewSchema(Header{Name: name, Level: LevelInfo}, fields...)
		require.NoError(t, err)
		var put func(r *Record, fields []Field)
		put = func(r *Record, fields []Field) {
			for _, f := range fields {
				switch f.Type {
				case TypeStruct:
					put(r, f.Fields)
				case TypeString:
					r.String("")
				default:
					for range max(1, f.Array) {
						r.Bool(true)
					}
				}
			}
		}
		var r Record
		r.Begin(nil, s, MaxLimit)
		put(&r, fields)
		b, err := r.End()
		require.NoError(t, err)
		ev, err := Decode("p_L4K0", b)
		require.NoError(t, err)
		requireEnvelope(t, ev)
		assert.Equal(t, name, ev.Name)
	}
}

// A schema remains what it was when its fields change.
func TestNewSchemaDoesNotRetainFields(t *testing.T) {
	fields := []Field{{Name: "x", Type: TypeStruct, Fields: []Field{{Name: "y", Type: TypeBool}}}}
	s := mustSchema(t, Header{Name: "e", Level: LevelInfo}, fields...)
	want := record(t, s, func(r *Record) { r.Bool(true) })
	fields[0].Fields[0] = Field{Name: "z", Type: TypeString}
	fields[0].Name = "w"
	assert.Equal(t, want, record(t, s, func(r *Record) { r.Bool(true) }))
}

func TestTypeStringOfUnknownFormats(t *testing.T) {
	assert.Equal(t, "value8 oldip", TypeOf(Value8, formatOldIP).String())
	assert.Equal(t, "value8 format 19", TypeOf(Value8, formatOldIP+1).String())
}

func TestTypeString(t *testing.T) {
	tests := map[Type]string{
		TypeStruct:                 "struct",
		TypeInt64:                  "value64 signed",
		TypeString:                 "string8",
		TypeJSON:                   "string8 json",
		TypeOf(Binary, FormatIP):   "binary ip",
		TypeOf(0, 0):               "encoding 0",
		TypeOf(31, FormatHexBytes): "encoding 31 hexbytes",
		TypeOf(Value8, 0x7f):       "value8 format 127",
	}
	for typ, want := range tests {
		assert.Equal(t, want, typ.String())
		assert.Equal(t, typ, TypeOf(typ.Encoding(), typ.Format()))
	}
}
