package component

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventset"
)

// ends is a context with given results of Err, one for each call.
type ends struct {
	context.Context
	errs []error
}

func (c *ends) Err() (err error) {
	err, c.errs = c.errs[0], c.errs[1:]
	return err
}

func TestBatch(t *testing.T) {
	shutdown, failure := errors.New("shutdown"), errors.New("failure")
	c := Open("test", "app", Config{Options: eventset.Options{Provider: provider(t)}})
	b := c.Batch(t.Context(), "points")
	assert.False(t, b.Stopped())
	require.NoError(t, b.End(shutdown))

	b = c.Batch(&ends{t.Context(), []error{nil, context.Canceled}}, "points")
	assert.False(t, b.Stopped())
	b.Wrote(2)
	b.Wrote(3)
	b.Fail(4, failure)
	b.Fail(5, errors.New("another"))
	assert.True(t, b.Stopped())
	assert.True(t, b.Stopped(), "it is not asked again")
	err := b.End(shutdown)
	require.EqualError(t, err, "test: stopped after 5 points: context canceled\ntest: 9 points were not written: failure")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, failure)

	var none context.Context
	b = c.Batch(none, "points")
	assert.False(t, b.Stopped())
	b.Fail(1, failure)
	require.NoError(t, b.End(shutdown), "one in ten seconds")

	require.NoError(t, c.Close())
	b.Fail(1, failure)
	assert.Equal(t, shutdown, b.End(shutdown))
}
