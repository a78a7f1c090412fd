package reader

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

// needed returns the fields that an event must have.
func (l *layout) needed() (fields []tracepoint.FormatField) {
	add := func(names []string, t tracepoint.Type) {
		for _, name := range names {
			fields = append(fields, tracepoint.FormatField{Name: name, Type: t})
		}
	}
	add(l.numbers, tracepoint.Scalar(tracepoint.U64))
	add(l.texts, tracepoint.Dynamic(tracepoint.Char))
	add(l.bytes, tracepoint.Type{Kind: tracepoint.U8, Location: tracepoint.RelLoc})
	return fields
}

// TestLayouts: an event is recognised by its fields, in any order and among others, and only if it has all of them with
// their types.
func TestLayouts(t *testing.T) {
	other := tracepoint.FormatField{Name: "other", Type: tracepoint.Scalar(tracepoint.U8)}
	for i, l := range layouts {
		fields := l.needed()
		require.Same(t, l, layoutOf(fields), i)
		slices.Reverse(fields)
		fields = append(fields, other)
		require.Same(t, l, layoutOf(fields), i)
		for k := range fields[:len(fields)-1] {
			without := slices.Delete(slices.Clone(fields), k, k+1)
			assert.NotSame(t, l, layoutOf(without), "%d without %s", i, fields[k].Name)
			for _, wrong := range []tracepoint.Type{
				tracepoint.Scalar(tracepoint.U64), tracepoint.Dynamic(tracepoint.Char), tracepoint.Array(tracepoint.UChar, 8), tracepoint.Dynamic(tracepoint.U8),
				tracepoint.Array(tracepoint.U8, 8), tracepoint.Dynamic(tracepoint.U16), tracepoint.StructOf("x", 8), tracepoint.Scalar(tracepoint.Char),
			} {
				was := fields[k].Type
				same := isNumber(was) && isNumber(wrong) || isText(was) && isText(wrong) || isBytes(was) && isBytes(wrong)
				changed := slices.Clone(fields)
				changed[k].Type = wrong
				assert.Equal(t, same, layoutOf(changed) == l, "%d, %s as %s", i, fields[k].Name, wrong)
			}
		}
	}
	assert.Nil(t, layoutOf(nil))
	assert.True(t, isNumber(tracepoint.Scalar(tracepoint.Char)))
	assert.True(t, isText(tracepoint.Array(tracepoint.UChar, 1)))
	assert.True(t, isText(tracepoint.Dynamic(tracepoint.Char)))
	assert.False(t, isText(tracepoint.Dynamic(tracepoint.U8)))
	assert.True(t, isBytes(tracepoint.Dynamic(tracepoint.U8)))
	assert.False(t, isBytes(tracepoint.Scalar(tracepoint.U8)))
	assert.False(t, isNumber(tracepoint.StructOf("x", 8)))
}

// TestSettersOfAllNeededFields: fields that identify an event do not remain in Event.Fields.
func TestSettersOfAllNeededFields(t *testing.T) {
	for i, l := range layouts {
		for _, f := range l.needed() {
			assert.NotNil(t, l.fields[f.Name], "%d: %s", i, f.Name)
		}
	}
}
