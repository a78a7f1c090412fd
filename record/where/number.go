package where

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// number is a number of any size. The zero number is none.
type number struct {
	kind       numberKind
	int64      int64   // of an integer, and of a duration in nanoseconds
	uint64     uint64  // of an integer above math.MaxInt64
	float64    float64 // the nearest of any kind
	isDuration bool    // it was written as 1.5s
}

// numberKind says which member has the number.
type numberKind uint8

const (
	noNumber numberKind = iota
	intNumber
	uintNumber
	floatNumber
)

// intOf returns an integer as a number.
func intOf(n int64) number { return number{kind: intNumber, int64: n, float64: float64(n)} }

// uintOf returns an integer as a number.
func uintOf(n uint64) number {
	if n <= math.MaxInt64 {
		return intOf(int64(n))
	}
	return number{kind: uintNumber, uint64: n, float64: float64(n)}
}

// floatOf returns a number. NaN is none.
func floatOf(f float64) number {
	if math.IsNaN(f) {
		return number{}
	}
	return number{kind: floatNumber, float64: f}
}

// parseNumber parses a decimal number, or an integer such as 0x1f. Other texts are no number.
func parseNumber(s string) number {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || (digits[0] < '0' || digits[0] > '9') && digits[0] != '.' || strings.Contains(s, "_") {
		return number{}
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		base, s = 16, s[:len(s)-len(digits)]+hex
	}
	if n, err := strconv.ParseInt(s, base, 64); err == nil {
		return intOf(n)
	}
	if n, err := strconv.ParseUint(s, base, 64); err == nil {
		return uintOf(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && base == 10 {
		return floatOf(f)
	}
	return number{}
}

func numberOf(word string) number {
	if n := parseNumber(word); n.kind != noNumber {
		return n
	}
	d, err := time.ParseDuration(word)
	if err != nil || word == "" || word[0] == '+' {
		return number{}
	}
	n := intOf(int64(d))
	n.isDuration = true
	return n
}

// compare returns -1, 0 or 1 as n is less than, equal to or greater than m. Both are numbers.
func (n number) compare(m number) int {
	switch {
	case n.kind == floatNumber || m.kind == floatNumber:
		return cmp.Compare(n.float64, m.float64)
	case n.kind == uintNumber && m.kind == uintNumber:
		return cmp.Compare(n.uint64, m.uint64)
	case n.kind == uintNumber:
		return 1
	case m.kind == uintNumber:
		return -1
	}
	return cmp.Compare(n.int64, m.int64)
}

// bits returns an integer as its 64 bits, and false for other numbers.
func (n number) bits() (uint64, bool) {
	switch n.kind {
	case intNumber:
		return uint64(n.int64), true
	case uintNumber:
		return n.uint64, true
	default:
		return 0, false
	}
}

// holds reports whether a comparison of which order is the result, as that of number.compare, holds.
func (o operator) holds(order int) bool {
	switch o {
	case opEqual:
		return order == 0
	case opNotEqual:
		return order != 0
	case opLess:
		return order < 0
	case opLessOrEqual:
		return order <= 0
	case opGreater:
		return order > 0
	case opGreaterOrEqual:
		return order >= 0
	default:
		return false
	}
}
