package output

import (
	"fmt"
	"strconv"
	"strings"
)

// Count returns a number with commas between thousands.
func Count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns a number, which is not negative, with its noun, in the plural if needed.
func Plural[N int | uint64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return Count(uint64(n)) + " " + noun + "s"
}

// FileSize returns a number of bytes with a decimal unit: 98.2 MB.
func FileSize(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// RingSize returns a number of bytes of memory, a multiple of a page, with a binary unit: 512 KiB.
func RingSize(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// MaxSize is the largest number of bytes that ParseSize takes.
const MaxSize = 1 << 30

// ParseSize parses a number of bytes, which may end in K, M or G, or in k, m or g, from 1 to MaxSize.
func ParseSize(s string) (int, error) {
	digits, shift := s, 0
	upper := strings.ToUpper(s)
	for i, unit := range "KMG" {
		for _, suffix := range []string{string(unit) + "IB", string(unit)} {
			if rest, ok := strings.CutSuffix(upper, suffix); ok {
				digits, shift = rest, 10*(i+1)
			}
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || n<<shift > MaxSize {
		return 0, fmt.Errorf("%q is no size from 1 to 1G, such as 512K or 2M", s)
	}
	return int(n << shift), nil
}
