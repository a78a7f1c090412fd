package reader

import (
	"math"
	"strconv"
)

// number returns the JSON number at the start of s, and its length, or 0 if there is none. Integers of up to 64 bits
// are exact; other numbers are floats.
func number(s string) (v Value, n int) {
	negative := n < len(s) && s[n] == '-'
	if negative {
		n++
	}
	first := n
	var integer uint64
	fits := true
	for ; n < len(s) && isDigit(s[n]); n++ {
		d := uint64(s[n] - '0')
		if integer > (math.MaxUint64-d)/10 {
			fits = false
		}
		integer = integer*10 + d
	}
	if n == first || s[first] == '0' && n > first+1 {
		return Value{}, 0
	}
	if n == len(s) || s[n] != '.' && s[n] != 'e' && s[n] != 'E' {
		switch {
		case fits && !negative:
			return Uint64Value(integer), n
		case fits && integer != 0 && integer <= 1<<63: // -0 is a float
			return Int64Value(int64(-integer)), n
		}
		return float(s[:n])
	}
	if s[n] == '.' {
		if n = digits(s, n+1); n == 0 {
			return Value{}, 0
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		if n = digits(s, n); n == 0 {
			return Value{}, 0
		}
	}
	return float(s[:n])
}

func float(s string) (v Value, n int) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, 0
	}
	return Float64Value(f), len(s) // a number out of range is infinite
}

// digits returns the position behind the digits at s[i], or 0 if there is none.
func digits(s string, i int) int {
	begin := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == begin {
		return 0
	}
	return i
}

func isDigit(c byte) bool { return c-'0' < 10 }

// numberText returns the number in a text field, including NaN and the infinities. It returns null for other texts.
func numberText(s string) Value {
	switch s {
	case "NaN":
		return Float64Value(math.NaN())
	case "Infinity":
		return Float64Value(math.Inf(1))
	case "-Infinity":
		return Float64Value(math.Inf(-1))
	}
	v, n := number(s)
	if n < len(s) {
		return Value{}
	}
	return v
}
