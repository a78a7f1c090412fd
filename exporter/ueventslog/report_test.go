package ueventslog

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents"
)

// TestReporter: one error in each interval, with the number of those between.
func TestReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reporter{start: time.Now()}
		failure := errors.New("failure")
		assert.NoError(t, r.report(nil))
		err := r.report(failure)
		require.ErrorIs(t, err, failure)
		assert.EqualError(t, err, "ueventslog: failure")
		for range 5 {
			assert.NoError(t, r.report(failure))
		}
		time.Sleep(errorInterval - time.Nanosecond)
		assert.NoError(t, r.report(failure))
		time.Sleep(time.Nanosecond)
		err = r.report(failure)
		require.ErrorIs(t, err, failure)
		assert.EqualError(t, err, "ueventslog: failure (and 6 more since the last report)")
		time.Sleep(errorInterval)
		assert.EqualError(t, r.report(failure), "ueventslog: failure")
	})
}

// TestReporterConcurrently: of errors at the same time one is reported.
func TestReporterConcurrently(t *testing.T) {
	r := reporter{start: time.Now()}
	errs := make(chan error, 100)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() { errs <- r.report(errors.New("failure")) })
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

func TestQuiet(t *testing.T) {
	assert.NoError(t, quiet(nil))
	assert.NoError(t, quiet(uevents.ErrNotTraced))
	assert.NoError(t, quiet(uevents.ErrClosed))
	assert.Error(t, quiet(uevents.ErrTooLarge))
}

// TestSeveritySchema: the fixed schema is valid, and leaves room for names of any use.
func TestSeveritySchema(t *testing.T) {
	d := severitySchema.layout.Declaration()
	require.NoError(t, d.Validate())
	assert.LessOrEqual(t, len(d.String())-len(d.Name), 420)
	s, err := newSchema("any", []field{})
	require.NoError(t, err)
	d = s.layout.Declaration()
	assert.LessOrEqual(t, len(d.String())-len(d.Name), 511-230, "what the documentation of Record promises")
}
