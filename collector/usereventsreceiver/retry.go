package usereventsreceiver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// retry calls functions again that return transient errors.
type retry struct {
	RetryConfig
	stop <-chan struct{} // ends all retries

	limited chan struct{} // closed by limit
	end     time.Time     // of all retries; set before limited is closed
}

func newRetry(c RetryConfig, stop <-chan struct{}) retry {
	return retry{RetryConfig: c, stop: stop, limited: make(chan struct{})}
}

// lastInterval is the longest wait between two attempts after limit was called.
const lastInterval = 500 * time.Millisecond

// Errors of retry.do wrap them.
var (
	errRetriesEnded = errors.New("the time for retries is over")
	errRetryStopped = errors.New("shutting down")
)

// limit ends all retries after a duration. It is called once, and makes the next attempt follow at once.
func (r *retry) limit(d time.Duration) {
	r.end = time.Now().Add(d)
	close(r.limited)
}

// do calls f until it returns nil or a permanent error, or there is no time left.
func (r *retry) do(f func() error) error {
	start, interval := time.Now(), r.InitialInterval
	for {
		err := f()
		if err == nil || !r.Enabled || isPermanent(err) {
			return err
		}
		// Some spread keeps the Collectors of a fleet from retrying at the same time.
		wait := interval/2 + rand.N(interval/2+1)
		if time.Since(start)+wait > r.MaxElapsedTime {
			return fmt.Errorf("%w: %w", errRetriesEnded, err)
		}
		if !r.sleep(wait) {
			return fmt.Errorf("%w: %w", errRetryStopped, err)
		}
		interval = min(2*interval, r.MaxInterval)
	}
}

// sleep waits, and reports whether a retry may follow.
func (r *retry) sleep(d time.Duration) bool {
	limited := r.limited
	select {
	case <-limited:
		limited, d = nil, min(d, lastInterval)
		if time.Now().Add(d).After(r.end) {
			return false
		}
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.stop:
		return false
	case <-limited:
		return true
	case <-t.C:
		return true
	}
}
