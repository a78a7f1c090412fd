package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

// keep is how much flight keeps: bytes on all CPUs together, and if age is not 0, only records of that age.
type keep struct {
	bytes int
	age   time.Duration
}

// Bytes to keep if only the age is given, and the minimum.
const (
	defaultKeep = 64 << 20
	leastKeep   = 64 << 10
)

// parseKeep parses a size (64M, 512K, 1G), an age (10s, 5m), or both: 64M,10s.
func parseKeep(s string) (keep, error) {
	k := keep{}
	for part := range strings.SplitSeq(s, ",") {
		age, err := time.ParseDuration(part)
		size, sizeErr := output.ParseSize(part)
		switch {
		case err == nil && age > 0 && k.age == 0:
			k.age = age
		case sizeErr == nil && size >= leastKeep && k.bytes == 0:
			k.bytes = size
		default:
			return keep{}, fmt.Errorf("%q is neither a size from 64K to 1G nor an age such as 10s", part)
		}
	}
	if k.bytes == 0 {
		k.bytes = defaultKeep
	}
	return k, nil
}

// ring returns the size of each CPU's ring: the largest power of two with which all rings are within the limit.
func (k keep) ring(cpus int) int {
	size := leastKeep
	for size*2*cpus <= k.bytes {
		size *= 2
	}
	return size
}
