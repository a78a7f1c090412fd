package cli

import (
	"maps"
	"math"
	"slices"
)

// percentiles of the numbers of a row, each within 1.6 % of a number that the records have.
type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// sketch counts numbers by their size: 32 buckets for each power of two.
type sketch struct {
	buckets map[int]uint64 // by bucketOf
	total   uint64
	least   float64
	most    float64
}

// add adds a number, and reports whether it takes another bucket. Without room for one, the number goes to the next bucket that is there.
func (s *sketch) add(v float64, room bool) (grew bool) {
	if s.buckets == nil {
		s.buckets = map[int]uint64{}
		s.least, s.most, room = v, v, true
	}
	s.least, s.most = min(s.least, v), max(s.most, v)
	b := bucketOf(v)
	if _, there := s.buckets[b]; !there {
		if !room {
			b = s.nearest(b)
		} else {
			grew = true
		}
	}
	s.buckets[b]++
	s.total++
	return grew
}

func (s *sketch) nearest(b int) int {
	return slices.MinFunc(slices.Collect(maps.Keys(s.buckets)), func(x, y int) int { return distance(x, b) - distance(y, b) })
}

func distance(a, b int) int { return max(a-b, b-a) }

const (
	perPower = 32
	// bias makes the buckets of all positive numbers positive: the smallest power of a float64 is -1073.
	bias = 1100 * perPower
)

// bucketOf returns the bucket of a number. Those of larger numbers are larger.
func bucketOf(v float64) int {
	if v == 0 {
		return 0
	}
	fraction, power := math.Frexp(math.Abs(v)) // 0.5 <= fraction < 1
	b := bias + power*perPower + int((fraction-0.5)*2*perPower)
	if v < 0 {
		return -b
	}
	return b
}

// middle returns the number in the middle of a bucket.
func middle(b int) float64 {
	if b < 0 {
		return -middle(-b)
	}
	if b == 0 {
		return 0
	}
	b -= bias
	power := b / perPower
	if b%perPower < 0 {
		power--
	}
	return math.Ldexp(0.5+(float64(b-power*perPower)+0.5)/(2*perPower), power)
}

func (s *sketch) percentiles() *percentiles {
	if s.total == 0 {
		return nil
	}
	order := slices.Sorted(maps.Keys(s.buckets))
	at := func(share float64) float64 {
		rank, seen := uint64(math.Ceil(share*float64(s.total))), uint64(0)
		for _, b := range order {
			if seen += s.buckets[b]; seen >= rank {
				return min(max(middle(b), s.least), s.most)
			}
		}
		return s.most
	}
	return &percentiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: s.most}
}
