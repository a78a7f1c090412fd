package ueventsmetric

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
)

// micro is how many millionths there are in one.
const micro = 1_000_000

// putValue writes the value of a gauge, a sum or an exemplar.
func putValue[N int64 | float64](e *encoder, v N) {
	putNumber(e, value, v)
	e.putU64(valueInt, uint64(rounded(v)))
	e.putU64(valueMicro, uint64(millionths(v)))
}

// putSum writes the sum of a histogram or a summary.
func putSum[N int64 | float64](e *encoder, v N) {
	putNumber(e, sumText, v)
	e.putU64(sumMicro, uint64(millionths(v)))
}

// putExtrema writes the extrema of a histogram as far as they are known.
func putExtrema[N int64 | float64](e *encoder, lo, hi metricdata.Extrema[N]) {
	if v, ok := lo.Value(); ok {
		putNumber(e, minText, v)
	}
	if v, ok := hi.Value(); ok {
		putNumber(e, maxText, v)
		e.putU64(maxMicro, uint64(millionths(v)))
	}
}

// putNumber writes the exact value of a number as text.
func putNumber[N int64 | float64](e *encoder, f field, v N) {
	begin := len(e.buf)
	e.buf = typed.EndText(appendNumber(e.buf, v), base, base+e.o.at[f], begin)
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
		return typed.Scale(v, 1)
	}
	return 0
}

// millionths returns v in millionths, cut at the ends of the range.
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
		return typed.Scale(v, micro)
	}
	return 0
}
