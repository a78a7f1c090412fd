package cli

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
)

// log2Key returns the key of a number with --log2, as the kernel prints it: N of the range from above 2^(N-1) to 2^N.
// Like the kernel, it takes negative numbers for very large ones.
func log2Key(v int64) string {
	n := 0
	if v != 0 {
		n = bits.Len64(uint64(v) - 1)
	}
	return "~ 2^" + strconv.Itoa(n)
}

// log2Of returns the key of a number with --log2, or false for other values. A fraction is in the range of the integer above.
func log2Of(v reader.Value) (key string, ok bool) {
	n, ok := number(v)
	whole := v.Int64()
	if v.Type() == reader.TypeFloat64 {
		whole = int64(max(-1, min(math.Ceil(n), 1<<63-1024))) // the nearest that an int64 can be
	}
	return log2Key(whole), ok
}

// ranges replaces the keys of --log2 by the limits of their ranges, and sorts the rows by them. In text, the limits of times
// have units.
func (h *histogram) ranges(f *histFlags) error {
	exponents := make(map[string]int, len(h.Rows))
	for i := range h.Rows {
		r := &h.Rows[i]
		digits, ok := strings.CutPrefix(r.Keys[0], "~ 2^")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 || n > 64 {
			return fmt.Errorf("histogram of %s: the kernel's text is not understood: %q is no power of two", h.Event, r.Keys[0])
		}
		r.Keys[0] = rangeOf(n, f.format == "text" && (strings.HasSuffix(f.by[0], "_ns") || f.by[0] == "duration"))
		exponents[r.Keys[0]] = n
	}
	slices.SortFunc(h.Rows, func(a, b histRow) int { return cmp.Compare(exponents[a.Keys[0]], exponents[b.Keys[0]]) })
	return nil
}

// rangeOf returns the limits of the range up to 2^n.
func rangeOf(n int, times bool) string {
	limit := func(v uint64) string {
		if times {
			return string(output.AppendDuration(nil, time.Duration(v)))
		}
		return strconv.FormatUint(v, 10)
	}
	switch n {
	case 0:
		return "up to " + limit(1)
	case 63:
		return "above " + limit(1<<62)
	case 64:
		return "negative, or above 2^63"
	}
	return limit(1<<(n-1)+1) + ".." + limit(1<<n)
}
