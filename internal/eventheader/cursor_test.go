package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixedEvent has values, structs and arrays of both within each other.
func mixedEvent(t testing.TB) *Event {
	var r raw
	r.field("a", typeInt8, 0, 7)
	r.field("s", typeOf(encStruct, 2), 0, 0)
	r.field("list", typeOf(encStruct, 2), variable, 0)
	r.field("b", typeUint16, 2, 0)
	r.field("c", typeString, 0, 0)
	r.field("d", typeBool, 0, 0)
	r.field("texts", typeString, variable, 0)
	r.field("none", typeOf(encStruct, 1), variable, 0)
	r.field("x", typeBool, 0, 0)
	text := func(s string) {
		r.count(len(s))
		r.data = append(r.data, s...)
	}
	r.data = append(r.data, 0xff)
	r.count(2)
	for i := range 2 {
		r.data = hostOrder.append16(hostOrder.append16(r.data, uint16(i)), uint16(i+10))
		text(fmt.Sprint("c", i))
	}
	r.data = append(r.data, 1)
	r.count(2)
	text("t0")
	text("t1")
	r.count(0)
	b := r.event(Header{Name: "mixed", Level: LevelInfo})
	ev, err := Decode("p_L4K0", b)
	require.NoError(t, err)
	return ev
}

var itemNames = [...]string{
	itemNone: "none", itemValue: "value", ItemStruct: "struct", ItemStructEnd: "end of struct",
	ItemArray: "array", ItemArrayEnd: "end of array",
}

// walk lists the items of an event, with what a cursor says about each.
func walk(t *testing.T, ev *Event, skip func(*Cursor) bool) string {
	var b strings.Builder
	c := ev.cursor()
	assert.Equal(t, itemNone, c.Item())
	for c.Next() {
		fmt.Fprintf(&b, "%s %s", itemNames[c.Item()], string(c.NameBytes()))
		if c.field.tag != 0 {
			fmt.Fprintf(&b, " tag %d", c.field.tag)
		}
		if int(c.field.count) > 0 {
			fmt.Fprintf(&b, " of %d", int(c.field.count))
		}
		if c.index >= 0 {
			fmt.Fprintf(&b, " #%d", c.index)
		}
		if c.Item() == itemValue {
			fmt.Fprintf(&b, " %v %v", c.Value().typ, c.Value().any())
			assert.Equal(t, c.Type(), c.Value().typ)
		} else {
			assert.Equal(t, Value{}, c.Value())
			assert.Nil(t, c.Value().any())
			assert.Equal(t, "null", string(c.Value().AppendJSON(nil)))
		}
		b.WriteByte('\n')
		if skip(c) {
			c.skip()
		}
	}
	require.NoError(t, c.Err())
	assert.Equal(t, itemNone, c.Item())
	assert.Empty(t, string(c.NameBytes()))
	assert.False(t, c.Next())
	return b.String()
}

func TestCursor(t *testing.T) {
	got := walk(t, mixedEvent(t), func(*Cursor) bool { return false })
	assert.Equal(t, `value a tag 7 value8 signed -1
struct s
array list of 2
struct list of 2 #0
array b of 2
value b of 2 #0 value16 0
value b of 2 #1 value16 10
end of array b of 2
value c string8 c0
end of struct list of 2
struct list of 2 #1
array b of 2
value b of 2 #0 value16 1
value b of 2 #1 value16 11
end of array b of 2
value c string8 c1
end of struct list of 2
end of array list of 2
value d value8 bool true
end of struct s
array texts of 2
value texts of 2 #0 string8 t0
value texts of 2 #1 string8 t1
end of array texts of 2
array none
end of array none
`, got)
}

func TestCursorSkip(t *testing.T) {
	ev := mixedEvent(t)
	tests := map[string]struct {
		skip func(*Cursor) bool
		want string
	}{
		"everything": {func(*Cursor) bool { return true }, `value a tag 7 value8 signed -1
struct s
array texts of 2
array none
`},
		"arrays of values": {func(c *Cursor) bool { return c.Item() == ItemArray && c.Type() != typeOf(encStruct, 2) }, `value a tag 7 value8 signed -1
struct s
array list of 2
struct list of 2 #0
array b of 2
value c string8 c0
end of struct list of 2
struct list of 2 #1
array b of 2
value c string8 c1
end of struct list of 2
end of array list of 2
value d value8 bool true
end of struct s
array texts of 2
array none
`},
		"elements": {func(c *Cursor) bool { return c.index >= 0 }, `value a tag 7 value8 signed -1
struct s
array list of 2
struct list of 2 #0
struct list of 2 #1
end of array list of 2
value d value8 bool true
end of struct s
array texts of 2
value texts of 2 #0 string8 t0
value texts of 2 #1 string8 t1
end of array texts of 2
array none
end of array none
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, walk(t, ev, tt.skip))
		})
	}
}

func TestCursorStopsAtAnError(t *testing.T) {
	ev := &Event{meta: []byte("a\x00\x02b\x00\x05"), data: []byte{1, 2}}
	c := ev.cursor()
	require.True(t, c.Next())
	assert.Equal(t, uint64(1), c.Value().any())
	for range 2 {
		assert.False(t, c.Next())
		assert.Equal(t, itemNone, c.Item())
		assert.Equal(t, Value{}, c.Value())
		assert.ErrorIs(t, c.Err(), errMalformed)
		c.skip()
	}
}

// A value is part of the payload; what a tree holds is not.
func TestValuesReferToThePayload(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 0)
	e.String("a", "text")
	e.Bytes("b", []byte("bytes"))
	b := end(t, &e)
	ev, err := Decode("p_L4K0", b)
	require.NoError(t, err)
	nodes, err := ev.tree()
	require.NoError(t, err)
	c := ev.cursor()
	require.True(t, c.Next())
	v := c.Value()
	assert.Equal(t, "text", string(v.Raw()))
	clear(b)
	assert.Equal(t, "\x00\x00\x00\x00", string(v.Raw()))
	assert.Equal(t, []node{
		{Name: "a", Type: typeString, Value: "text"}, {Name: "b", Type: typeBytes, Value: []byte("bytes")},
	}, nodes)
}
