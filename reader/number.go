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
	var digits uint64 // their number, with those of the fraction
	for ; n < len(s) && isDigit(s[n]); n++ {
		digits = digits*10 + uint64(s[n]-'0')
	}
	if n == first || s[first] == '0' && n > first+1 {
		return Value{}, 0
	}
	if n == len(s) || s[n] != '.' && s[n] != 'e' && s[n] != 'E' {
		fits := n-first < maxDigits || n-first == maxDigits && s[first:n] <= maxUint64
		switch {
		case fits && !negative:
			return Uint64Value(digits), n
		case fits && digits != 0 && digits <= 1<<63: // -0 is a float
			return Int64Value(int64(-digits)), n
		}
		return float(s[:n])
	}
	point := n
	if s[n] == '.' {
		for n++; n < len(s) && isDigit(s[n]); n++ {
			digits = digits*10 + uint64(s[n]-'0')
		}
		if n == point+1 {
			return Value{}, 0
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		begin := n
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		if n == begin {
			return Value{}, 0
		}
		return float(s[:n])
	}
	if n-first > exactDigits+1 {
		return float(s[:n])
	}
	// A float has both numbers exactly, so that their quotient is the nearest one.
	f := float64(digits) / powersOfTen[n-point-1]
	if negative {
		f = -f
	}
	return Float64Value(f), n
}

const (
	maxDigits   = 20 // of 64 bits
	maxUint64   = "18446744073709551615"
	exactDigits = 15 // of integers that a float has exactly, whatever the digits
)

// powersOfTen are the powers of ten with such exponents.
var powersOfTen = [exactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func float(s string) (v Value, n int) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, 0
	}
	return Float64Value(f), len(s) // a number out of range is infinite
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
