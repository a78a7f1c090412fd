package flight

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Keep says how much is kept: so many bytes on all CPUs together, and of them what is not older than Age, if that is not 0.
type Keep struct {
	Bytes int
	Age   time.Duration
}

// defaultBytes is how much is kept if only the age is given.
const defaultBytes = 64 << 20

// ParseKeep parses a size (64M, 512K, 1G), an age (10s, 5m), or both: 64M,10s.
func ParseKeep(s string) (Keep, error) {
	k := Keep{}
	for part := range strings.SplitSeq(s, ",") {
		bytes, isSize := parseSize(part)
		age, err := time.ParseDuration(part)
		switch {
		case isSize && bytes > 0 && k.Bytes == 0:
			k.Bytes = bytes
		case !isSize && err == nil && age > 0 && k.Age == 0:
			k.Age = age
		default:
			return Keep{}, fmt.Errorf("%q is no size such as 64M, and no age such as 10s", part)
		}
	}
	if k.Bytes == 0 {
		k.Bytes = defaultBytes
	}
	return k, nil
}

// parseSize parses a number with the unit K, M or G: 1024, its square and its cube.
func parseSize(s string) (bytes int, ok bool) {
	for shift, unit := range map[int]string{10: "K", 20: "M", 30: "G"} {
		if number, found := strings.CutSuffix(s, unit); found {
			n, err := strconv.ParseUint(number, 10, 31)
			return int(n) << shift, err == nil && n <= 1<<40>>shift
		}
	}
	return 0, false
}

// Ring returns the size of the ring of each of some CPUs: the largest power of two that is within the limit.
func (k Keep) Ring(cpus int) int {
	size := 64 << 10
	for size*2*cpus <= k.Bytes && size < 1<<30 {
		size *= 2
	}
	return size
}
