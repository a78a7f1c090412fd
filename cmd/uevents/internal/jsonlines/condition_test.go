package jsonlines

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
)

// TestConditions: a condition selects a record and its JSON line alike, whatever the type of the value.
func TestConditions(t *testing.T) {
	var values []reader.Value
	for _, f := range []float64{0, 1, -1, 3, 0.5, 1.001, 1e15, 1 << 53, -1 << 53, 1 << 63, 1 << 64, -1 << 63, 1e300, 5e-324, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)} {
		values = append(values, reader.Float64Value(f))
	}
	for _, s := range []string{"", "5", "1234", "150ms", "0s", "x\\y", "a\nb", "true", "Infinity", "NaN", "0x10", "9007199254740993"} {
		values = append(values, reader.StringValue(s))
	}
	for _, b := range [][]byte{{}, {0xd7, 0x6d, 0xf8}, {0xd7, 0x4d, 0x34, 0xd3, 0x4d, 0x34}, {0xd7, 0x4d, 0x34, 0xb2, 0x69, 0xac}, {1}} { // the second is 1234
		values = append(values, reader.BytesValue(b))
	}
	values = append(values, reader.BoolValue(true), reader.BoolValue(false), reader.Int64Value(math.MinInt64), reader.Uint64Value(math.MaxUint64), reader.Int64Value(1), reader.Int64Value(0))
	var conditions []*reader.Condition
	for _, name := range []string{"x", "x_ms", "metric.value"} {
		for _, operand := range []string{"0", "1", "5", "1000", "-1.5", "1e16", "9007199254740993", "9007199254740992", "9223372036854775808", "18446744073709551615", "1e300", "0s", "1ns", "100ms", "1001ms", "1h"} {
			for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "&"} {
				if c, err := reader.ParseCondition(name + " " + op + " " + operand); op != "&" {
					require.NoError(t, err)
					conditions = append(conditions, c)
				} else if err == nil { // of integers alone
					conditions = append(conditions, c)
				}
			}
		}
		if name != "metric.value" {
			for _, operand := range []string{"true", "false", "Infinity", "NaN", "1234", `"a\nb"`, `"x\\y"`} {
				c, err := reader.ParseCondition(name + " == " + operand + " or " + name + " ~ '*" + operand[:1] + "*'")
				require.NoError(t, err)
				conditions = append(conditions, c)
			}
		}
	}
	matched := 0
	for _, v := range values {
		ev := &reader.Event{
			Kind: reader.KindMetric, Time: time.Unix(1, 0), Name: "m", Fields: []reader.Field{{Name: "x", Value: v}, {Name: "x_ms", Value: v}},
			Point: &reader.Point{Type: reader.PointGauge, Unit: "s", Value: v},
		}
		if v.Type() != reader.TypeFloat64 && v.Type() != reader.TypeInt64 && v.Type() != reader.TypeUint64 {
			ev.Point.Value = reader.Float64Value(1.001)
		}
		var line bytes.Buffer
		w, err := output.New("json", &line, output.Options{})
		require.NoError(t, err)
		require.NoError(t, w.Write(ev))
		var read reader.Event
		require.NoError(t, NewReader(&line).Next(&read))
		for _, c := range conditions {
			want := c.Match(ev)
			if want {
				matched++
			}
			assert.Equal(t, want, c.Match(&read), fmt.Sprintf("%s: %v %v", c, v.Type(), v))
		}
	}
	assert.Greater(t, matched, 1000)
}
