package component

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func provider(t *testing.T) *uevents.Provider {
	p := ueventstest.New(t, nil).Provider()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestApply(t *testing.T) {
	c := Apply(Config{CommonSchema4: true}, []any{
		func(c *Config) { c.MaxPayload = 5 },
		nil,
		func(c *Config) { c.Resource = append(c.Resource, "a") },
		func(c *Config) { c.Resource = append(c.Resource, "b") },
	}, func(o any, c *Config) { o.(func(*Config))(c) })
	assert.Equal(t, Config{Options: eventset.Options{MaxPayload: 5}, CommonSchema4: true, Resource: []attribute.Key{"a", "b"}}, c)
}

// TestInvalid: invalid arguments are errors on every machine, with or without user events.
func TestInvalid(t *testing.T) {
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	for _, p := range []*uevents.Provider{unsupported, provider(t)} {
		for message, c := range map[string]Config{
			`negative`: {Options: eventset.Options{MaxPayload: -1}},
		} {
			c.Provider = p
			component := Open("test", "app", c)
			err := component.Publish(selfobs.LogProcessor, component.Total)
			require.ErrorIs(t, err, fs.ErrInvalid)
			require.ErrorContains(t, err, message)
			assert.ErrorContains(t, err, `test "app"`)
			assert.NoError(t, component.Close())
		}
	}
}

func TestExport(t *testing.T) {
	shutdown, failure := errors.New("shutdown"), errors.New("failure")
	c := Open("test", "app", Config{Options: eventset.Options{Provider: provider(t)}})
	require.NoError(t, c.Publish(selfobs.LogExporter, c.Total))
	calls := 0
	export := func(ctx context.Context, n int, errs ...error) error {
		calls = 0
		return c.Export(ctx, n, "records", shutdown, func(i int) error {
			calls++
			return errs[i]
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, export(ctx, 0))
	require.NoError(t, export(ctx, 2, nil, nil))
	assert.Equal(t, 2, calls)

	err := export(ctx, 3, nil, failure, failure)
	require.ErrorIs(t, err, failure)
	require.EqualError(t, err, "test: 2 records were not written: failure")
	assert.Equal(t, 3, calls, "the others are written")
	require.NoError(t, export(ctx, 1, failure), "one in ten seconds")

	var none context.Context
	require.NoError(t, export(none, 1, nil))
	assert.Equal(t, 1, calls)

	cancel()
	require.ErrorIs(t, export(ctx, 0), context.Canceled)
	err = export(ctx, 2)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "test: stopped after 0 records: context canceled")
	assert.Zero(t, calls)

	ctx, cancel = context.WithCancel(t.Context())
	require.NoError(t, c.Export(ctx, 2, "records", shutdown, func(i int) error {
		if i == 1 {
			cancel()
		}
		return nil
	}), "all are written")

	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, export(t.Context(), 0), shutdown)
	assert.Zero(t, calls)
	require.ErrorIs(t, export(ctx, 2), shutdown)
}
