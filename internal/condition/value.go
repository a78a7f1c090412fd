package condition

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// Value is what a name is compared with.
type Value struct {
	Text   string // without the quotes
	At     int    // offset in the text of the condition
	Quoted bool
	Number Number // not of quoted text
}

// Number is a number of any size. The zero Number is none.
type Number struct {
	Kind     NumberKind
	Int      int64   // of Int and Duration, in nanoseconds
	Uint     uint64  // of Uint, above math.MaxInt64
	Float    float64 // the nearest of any kind
	Duration bool    // it was written as 1.5s
}

// NumberKind says which member has the number.
type NumberKind uint8

// The kinds of numbers.
const (
	None NumberKind = iota
	Int
	Uint
	Float
)

// OfInt returns an integer as a number.
func OfInt(n int64) Number { return Number{Kind: Int, Int: n, Float: float64(n)} }

// OfUint returns an integer as a number.
func OfUint(n uint64) Number {
	if n <= math.MaxInt64 {
		return OfInt(int64(n))
	}
	return Number{Kind: Uint, Uint: n, Float: float64(n)}
}

// OfFloat returns a number. NaN is none.
func OfFloat(f float64) Number {
	if math.IsNaN(f) {
		return Number{}
	}
	return Number{Kind: Float, Float: f}
}

// ParseNumber parses a decimal number, or an integer such as 0x1f. Other texts are no number.
func ParseNumber(s string) Number {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || (digits[0] < '0' || digits[0] > '9') && digits[0] != '.' || strings.Contains(s, "_") {
		return Number{}
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		base, s = 16, s[:len(s)-len(digits)]+hex
	}
	if n, err := strconv.ParseInt(s, base, 64); err == nil {
		return OfInt(n)
	}
	if n, err := strconv.ParseUint(s, base, 64); err == nil {
		return OfUint(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && base == 10 {
		return OfFloat(f)
	}
	return Number{}
}

func numberOf(word string) Number {
	if n := ParseNumber(word); n.Kind != None {
		return n
	}
	d, err := time.ParseDuration(word)
	if err != nil || word == "" || word[0] == '+' {
		return Number{}
	}
	n := OfInt(int64(d))
	n.Duration = true
	return n
}

// Compare returns -1, 0 or 1 as n is less than, equal to or greater than m. Both are numbers.
func (n Number) Compare(m Number) int {
	switch {
	case n.Kind == Float || m.Kind == Float:
		return cmp.Compare(n.Float, m.Float)
	case n.Kind == Uint && m.Kind == Uint:
		return cmp.Compare(n.Uint, m.Uint)
	case n.Kind == Uint:
		return 1
	case m.Kind == Uint:
		return -1
	}
	return cmp.Compare(n.Int, m.Int)
}

// Bits returns an integer as its 64 bits, and false for other numbers.
func (n Number) Bits() (uint64, bool) {
	switch n.Kind {
	case Int:
		return uint64(n.Int), true
	case Uint:
		return n.Uint, true
	default:
		return 0, false
	}
}

// Holds reports whether a comparison of which order is the result, as that of [Number.Compare], holds.
func (o Op) Holds(order int) bool {
	switch o {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	default:
		return false
	}
}
