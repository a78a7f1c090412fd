package report

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
)

// TestReporter: each interval has one error, with the number of those in between.
func TestReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New("ueventslog")
		failure := errors.New("failure")
		assert.NoError(t, r.Report(nil))
		err := r.Report(failure)
		require.ErrorIs(t, err, failure)
		assert.EqualError(t, err, "ueventslog: failure")
		for range 5 {
			assert.NoError(t, r.Report(failure))
		}
		time.Sleep(interval - time.Nanosecond) //nolint:forbidigo // synctest
		assert.NoError(t, r.Report(failure))
		time.Sleep(time.Nanosecond) //nolint:forbidigo // synctest
		err = r.Report(failure)
		require.ErrorIs(t, err, failure)
		assert.EqualError(t, err, "ueventslog: failure (and 6 more since the last report)")
		time.Sleep(interval) //nolint:forbidigo // synctest
		assert.EqualError(t, r.Report(failure), "ueventslog: failure")
	})
}

// TestHandle: OpenTelemetry's handler gets an error once in an interval, and never nil.
func TestHandle(t *testing.T) {
	var handled []string
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = append(handled, err.Error()) }))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	r := New("ueventslog")
	for _, err := range []error{nil, errors.New("first"), errors.New("second"), nil} {
		r.Handle(err)
	}
	assert.Equal(t, []string{"ueventslog: first"}, handled)
}

// TestReporterConcurrently: of concurrent errors one is reported.
func TestReporterConcurrently(t *testing.T) {
	r := New("ueventslog")
	errs := make(chan error, 100)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() { errs <- r.Report(errors.New("failure")) })
	}
	wg.Wait()
	close(errs)
	reported := 0
	for err := range errs {
		if err != nil {
			reported++
		}
	}
	assert.Equal(t, 1, reported)
	assert.Equal(t, uint64(99), r.suppressed.Load())
}
