package usereventsreceiver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
)

// retry calls functions again that return transient errors.
type retry struct {
	RetryConfig
	stop <-chan struct{} // ends all waits

	mu  sync.Mutex
	end time.Time // of all retries; zero if there is none
}

// Errors of retry.do wrap them.
var (
	errRetriesEnded = errors.New("the time for retries is over")
	errRetryStopped = errors.New("shutting down")
)

// limit ends all retries after a duration.
func (r *retry) limit(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = time.Now().Add(d)
}

// do calls f until it returns nil or a permanent error, or there is no time left.
func (r *retry) do(f func() error) error {
	start, interval := time.Now(), r.InitialInterval
	for {
		err := f()
		if err == nil || !r.Enabled || consumererror.IsPermanent(err) {
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
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if !end.IsZero() && time.Now().Add(d).After(end) {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.stop:
		return false
	case <-t.C:
		return true
	}
}
