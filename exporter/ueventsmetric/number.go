package ueventsmetric

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// micro is how many millionths there are in one.
const micro = 1_000_000

// putValue writes the value of a gauge, a sum or an exemplar.
func putValue[N int64 | float64](r *component.Record, v N) {
	putNumber(r, value, v)
	r.U64(valueInt, uint64(rounded(v)))
	r.U64(valueMicro, uint64(millionths(v)))
}

// putSum writes the sum of a histogram or a summary.
func putSum[N int64 | float64](r *component.Record, v N) {
	putNumber(r, sumText, v)
	r.U64(sumMicro, uint64(millionths(v)))
}

// putExtrema writes the extrema of a histogram as far as they are known.
func putExtrema[N int64 | float64](r *component.Record, lo, hi metricdata.Extrema[N]) {
	if v, ok := lo.Value(); ok {
		putNumber(r, minText, v)
	}
	if v, ok := hi.Value(); ok {
		putNumber(r, maxText, v)
		r.U64(maxMicro, uint64(millionths(v)))
	}
}

// putNumber writes the exact value of a number as text.
func putNumber[N int64 | float64](r *component.Record, field int, v N) {
	begin := len(r.Buf)
	r.Buf = appendNumber(r.Buf, v)
	r.EndRaw(r.At(field), begin)
}

func appendNumber[N int64 | float64](dst []byte, v N) []byte {
	switch v := any(v).(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return text.AppendFloat(dst, v, 64)
	}
	return dst
}

// rounded returns the integer that is nearest to v.
func rounded[N int64 | float64](v N) int64 {
	switch v := any(v).(type) {
	case int64:
		return v
	case float64:
		return typedfield.Scale(v, 1)
	}
	return 0
}

// millionths returns v in millionths, limited to the range of 64 bits.
func millionths[N int64 | float64](v N) int64 {
	switch v := any(v).(type) {
	case int64:
		switch {
		case v > math.MaxInt64/micro:
			return math.MaxInt64
		case v < math.MinInt64/micro:
			return math.MinInt64
		}
		return v * micro
	case float64:
		return typedfield.Scale(v, micro)
	}
	return 0
}
