package component

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func provider(t *testing.T) *uevents.Provider {
	p := ueventstest.New(t, nil).Provider()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestApply(t *testing.T) {
	c := Apply(Config{CommonSchema4: true}, []func(*Config){
		func(c *Config) { c.MaxPayload = 5 },
		nil,
		func(c *Config) { c.Resource = append(c.Resource, "a") },
		func(c *Config) { c.Resource = append(c.Resource, "b") },
	})
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

// TestProviderResource: the program's attributes override those of the environment, which are added.
func TestProviderResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the environment")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "shard=9")
	res, err := ProviderResource("pkg", nil)
	require.NoError(t, err)
	assert.Same(t, resource.Default(), res)
	res, err = ProviderResource("pkg", resource.NewSchemaless(attribute.String("service.name", "set")))
	require.NoError(t, err)
	assert.Equal(t, "service.name=set,shard=9", res.String())
	res, err = ProviderResource("pkg", resource.Empty())
	require.NoError(t, err)
	assert.Equal(t, "service.name=from the environment,shard=9", res.String())
}

func TestWithoutNil(t *testing.T) {
	one := func() {}
	a, b := &one, new(func())
	list := []*func(){a, nil, b, nil}
	assert.Equal(t, []*func(){a, b}, WithoutNil(list))
	assert.Equal(t, []*func(){a, nil, b, nil}, list, "the caller's")
	assert.Empty(t, WithoutNil([]*func(){nil}))
	whole := []*func(){a}
	assert.Same(t, &whole[0], &WithoutNil(whole)[0], "nothing to copy")
}

// table has the fields of two events.
var table = []payload.Field{payload.TraceID, {Name: "u8", Type: payload.U8}, {Name: "u32", Type: payload.U32}, {Name: "u64", Type: payload.U64}, payload.TextField("text"), attrs.ScopeName, payload.Truncated}

// TestRecord: a record has the values of its event's fields, and is counted.
func TestRecord(t *testing.T) {
	k, p := recordtest.Kernel(t)
	c := Open("pkg", "app", Config{Options: eventset.Options{Provider: p, MaxPayload: 300}})
	all := c.RegisterTyped("all", payload.Subset(table, 0, 1, 2, 3, 4, 5, 6))
	few := c.RegisterTyped("few", payload.Subset(table, 3, 6))
	require.NoError(t, c.Err())
	tool := recordtest.Attach(t, k, ueventstest.Ftrace, "app_all")
	for _, e := range []*Event{all, few} {
		var r Record
		e.Begin(&r)
		r.U64(3, 3)
		if e == all {
			r.U8(1, 1)
			r.U32(2, 2)
			r.ID(0, make([]byte, 16), true)
			r.Text(4, string(make([]byte, 300)))
			e.Origin.Put(&r.Builder, &instrumentation.Scope{Name: "scope"}, c.Resources.Describe(resource.Empty()))
		} else {
			r.Text(4, "") // which the event does not have
		}
		written, err := r.Write()
		require.NoError(t, err)
		assert.Equal(t, e == all, written, "the other event is disabled")
	}
	raw := tool.Records()
	require.Len(t, raw, 1)
	record := recordtest.Decode(t, raw[0].Declaration, raw[0].Payload)
	for name, want := range map[string]string{"u8": "1", "u32": "2", "u64": "3", "trace_id": "00000000000000000000000000000000", "scope_name": "scope", "truncated": "1"} {
		v, ok := record.Lookup(name)
		require.True(t, ok)
		assert.Equal(t, want, string(v.AppendTo(nil)), name)
	}
	assert.Equal(t, map[string]uevents.EventStats{"app_all": {Written: 1, Truncated: 1}, "app_few": {}}, c.Stats())
	require.NoError(t, c.Close())
}

func TestScopes(t *testing.T) {
	var s Scopes[int]
	a, b := new(int), new(int)
	named := instrumentation.Scope{Name: "a"}
	assert.Nil(t, s.Get(named))
	assert.Same(t, a, s.Add(named, a))
	assert.Same(t, a, s.Add(named, b), "the first one is kept")
	assert.Same(t, a, s.Get(named))
	for _, other := range []instrumentation.Scope{
		{Name: "b"},
		{Name: "a", Version: "1"},
		{Name: "a", SchemaURL: "u"},
		{Name: "a", Attributes: attribute.NewSet(attribute.Int("n", 1))},
	} {
		assert.Nil(t, s.Get(other))
		own := new(int)
		assert.Same(t, own, s.Add(other, own))
		assert.Same(t, own, s.Get(other))
	}
	assert.Same(t, a, s.Get(named))
	assert.Zero(t, testing.AllocsPerRun(10, func() { s.Get(named) }))
}

// TestScopesBound: a full table keeps its scopes, and new ones work without an entry.
func TestScopesBound(t *testing.T) {
	var s Scopes[int]
	var wg sync.WaitGroup
	for i := range 4 * maxScopes {
		wg.Go(func() {
			own := new(int)
			assert.NotNil(t, s.Add(instrumentation.Scope{Name: fmt.Sprint(i)}, own))
		})
	}
	wg.Wait()
	kept := 0
	for i := range 4 * maxScopes {
		if s.Get(instrumentation.Scope{Name: fmt.Sprint(i)}) != nil {
			kept++
		}
	}
	assert.Equal(t, maxScopes, kept)
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
