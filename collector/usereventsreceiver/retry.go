package usereventsreceiver

import (
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v7"
	"go.opentelemetry.io/collector/config/configretry"
)

// retry calls functions again that return transient errors.
type retry struct {
	configretry.BackOffConfig
	stop <-chan struct{} // ends all retries

	limited chan struct{} // closed by limit
	end     time.Time     // of all retries; set before limited is closed
}

func newRetry(c configretry.BackOffConfig, stop <-chan struct{}) retry {
	return retry{BackOffConfig: c, stop: stop, limited: make(chan struct{})}
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
	start := time.Now()
	next := backoff.ExponentialBackOff{
		InitialInterval: r.InitialInterval, RandomizationFactor: r.RandomizationFactor, Multiplier: r.Multiplier, MaxInterval: r.MaxInterval,
	}
	next.Reset()
	for {
		err := f()
		if err == nil || !r.Enabled || isPermanent(err) {
			return err
		}
		wait := next.NextBackOff()
		if time.Since(start)+wait > r.MaxElapsedTime {
			return fmt.Errorf("%w: %w", errRetriesEnded, err)
		}
		if !r.sleep(wait) {
			return fmt.Errorf("%w: %w", errRetryStopped, err)
		}
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
