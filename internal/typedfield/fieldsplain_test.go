package typedfield_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/typedfield"
)

// plainFields has a field of each kind that Plain returns, at the ends of its range, and one that it does not.
type plainFields struct {
	B   bool
	I8  int8
	I16 int16
	I32 int32
	I64 int64
	I   int
	U8  uint8
	U16 uint16
	U32 uint32
	U64 uint64
	U   uint
	F   float64
	X   float64 `uevent:"x,scale=1000"`
	S   string
	D   time.Duration
	T   time.Time
}

// TestPlainLikeValue: Plain returns what Value returns, and does not allocate.
func TestPlainLikeValue(t *testing.T) {
	fields, err := typedfield.FieldsOf[plainFields]()
	require.NoError(t, err)
	v := plainFields{
		true, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MinInt,
		math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxUint, -0.5, 2.5, "text\n", -time.Hour, time.Unix(1, 2),
	}
	for i, f := range fields.List() {
		num, text, ok := fields.Plain(i, &v)
		require.Equal(t, f.Kind != typedfield.GoTime, ok, f.Key)
		var got any
		switch f.Kind {
		case typedfield.GoTime:
			continue
		case typedfield.GoString:
			got = text
		case typedfield.GoBool:
			got = num != 0
		case typedfield.GoInt:
			got = int64(num)
		case typedfield.GoDuration:
			got = time.Duration(num)
		case typedfield.GoFloat:
			got = math.Float64frombits(num)
		default:
			got = num
		}
		assert.Equal(t, fields.Value(i, &v), got, f.Key)
		assert.EqualValues(t, reflect.ValueOf(v).Field(i).Interface(), got, f.Key)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		local := plainFields{S: "on the stack"}
		for i := range fields.List() {
			fields.Plain(i, &local)
		}
	})-testing.AllocsPerRun(100, func() { fields.List() }))
}
