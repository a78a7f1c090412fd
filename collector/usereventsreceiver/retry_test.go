package usereventsreceiver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// TestRetryEnds: retries end with success, with a permanent error, and when their time is over.
func TestRetryEnds(t *testing.T) {
	permanent := consumererror.NewPermanent(errors.New("never"))
	c := configretry.BackOffConfig{
		Enabled: true, InitialInterval: time.Millisecond, MaxInterval: 4 * time.Millisecond, MaxElapsedTime: 50 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.5,
	}
	for name, f := range map[string]struct {
		results []error
		want    error
	}{
		"success":   {[]error{errBusy, errBusy, nil}, nil},
		"permanent": {[]error{errBusy, permanent}, permanent},
		"time":      {nil, errRetriesEnded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetry(c, nil)
				calls, start := 0, time.Now()
				err := r.do(func() error {
					if calls++; f.results == nil {
						return errBusy
					}
					return f.results[calls-1]
				})
				assert.ErrorIs(t, err, f.want)
				if f.results == nil {
					assert.ErrorIs(t, err, errBusy)
					assert.LessOrEqual(t, time.Since(start), c.MaxElapsedTime) //nolint:forbidigo // synctest
					assert.GreaterOrEqual(t, calls, 8)
					return
				}
				assert.Equal(t, len(f.results), calls)
			})
		})
	}
}

// TestRetryAtShutdown: a shutdown makes the next attempt follow at once, and soon ends the retries.
func TestRetryAtShutdown(t *testing.T) {
	r := newRetry(configretry.BackOffConfig{Enabled: true, InitialInterval: time.Hour, MaxInterval: time.Hour, MaxElapsedTime: 2 * time.Hour, Multiplier: 1}, nil)
	done, calls := make(chan error, 1), make(chan int, 10)
	go func() {
		done <- r.do(func() error { calls <- 0; return errBusy })
	}()
	<-calls
	r.limit(0)
	err := <-done
	assert.ErrorIs(t, err, errRetryStopped)
	assert.ErrorIs(t, err, errBusy)
	assert.LessOrEqual(t, len(calls), 1)
}

// TestRetryIntervals: the intervals grow by the multiplier up to the longest, with the spread that is configured.
func TestRetryIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetry(configretry.BackOffConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: 40 * time.Second, Multiplier: 3}, nil)
		start := time.Now()
		var at []time.Duration
		assert.ErrorIs(t, r.do(func() error {
			at = append(at, time.Since(start)) //nolint:forbidigo // synctest
			return errBusy
		}), errRetriesEnded)
		assert.Equal(t, []time.Duration{0, time.Second, 4 * time.Second, 13 * time.Second, 23 * time.Second, 33 * time.Second}, at)
	})
}
