package flight

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate limits the frequency of an action: N times at once, and N times in each period. The zero Rate has no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// ParseRate parses a rate such as 2/h, 10/m or 1/90s.
func ParseRate(s string) (Rate, error) {
	count, per, ok := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if per != "" && strings.Trim(per, "smh") == "" {
		per = "1" + per
	}
	d, perErr := time.ParseDuration(per)
	if !ok || err != nil || perErr != nil || n <= 0 || d <= 0 {
		return Rate{}, fmt.Errorf("%q is no rate, such as 2/h or 1/90s", s)
	}
	return Rate{n, d}, nil
}

// Limiter enforces a rate.
type Limiter struct {
	rate Rate
	left float64
	last time.Time
}

// NewLimiter returns a limiter of a rate.
func NewLimiter(r Rate) *Limiter { return &Limiter{rate: r, left: float64(r.N)} }

// Allow reports whether one more may happen now. The time may be that of any clock; while one is set back, no time passes.
func (l *Limiter) Allow(now time.Time) bool {
	if l.rate == (Rate{}) {
		return true
	}
	if !l.last.IsZero() {
		l.left += max(0, now.Sub(l.last)).Seconds() / l.rate.Per.Seconds() * float64(l.rate.N)
		l.left = min(l.left, float64(l.rate.N))
	}
	l.last = now
	if l.left < 1 {
		return false
	}
	l.left--
	return true
}
