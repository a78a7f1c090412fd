package autoexport_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/processcontext"
)

// publishedResource returns the process context of this process, nil without one.
func publishedResource(t *testing.T) map[string]any {
	list, err := processcontext.Read("/proc/self")
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return nil
	}
	published := map[string]any{}
	for _, kv := range list {
		published[kv.Key] = kv.Value
	}
	return published
}

// TestProcessContext: the resource is published from Setup until the shutdown, with values of all types.
func TestProcessContext(t *testing.T) {
	p := newProgram(t, "user_events")
	assert.Nil(t, publishedResource(t))
	shutdown, err := p.setup(autoexport.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "shop"), attribute.String("text", "a\xff"), attribute.Bool("bool", true), attribute.Int64("int", -5),
		attribute.Float64("float", 0.5), attribute.ByteSlice("bytes", []byte{0xff}), attribute.StringSlice("texts", []string{"a", ""}),
		attribute.BoolSlice("bools", []bool{false}), attribute.Int64Slice("ints", []int64{1, 2}), attribute.Float64Slice("floats", []float64{1.5}),
		attribute.Slice("list", attribute.StringValue("x"), attribute.Int64Value(7)),
		attribute.Map("map", attribute.String("k", "v"), attribute.Slice("l")), attribute.KeyValue{Key: "empty"},
	)))
	require.NoError(t, err)
	got := publishedResource(t)
	for key, want := range map[string]any{
		"service.name": "shop", "text": "a\uFFFD", "bool": true, "int": int64(-5), "float": 0.5, "bytes": []byte{0xff}, "texts": []any{"a", ""},
		"bools": []any{false}, "ints": []any{int64(1), int64(2)}, "floats": []any{1.5}, "list": []any{"x", int64(7)},
		"map": []processcontext.Attribute{{Key: "k", Value: "v"}, {Key: "l", Value: []any{}}}, "empty": nil,
		"host.name": "node1", "telemetry.sdk.language": "go",
	} {
		assert.Contains(t, got, key)
		assert.Equal(t, want, got[key], key)
	}
	require.NoError(t, shutdown(t.Context()))
	assert.Nil(t, publishedResource(t))
}

// TestWithoutProcessContext: an option and OTEL_SDK_DISABLED keep Setup from publishing.
func TestWithoutProcessContext(t *testing.T) {
	p := newProgram(t, "user_events")
	shutdown, err := p.setup(autoexport.WithoutProcessContext())
	require.NoError(t, err)
	assert.Nil(t, publishedResource(t))
	require.NoError(t, shutdown(t.Context()))
	t.Setenv("OTEL_SDK_DISABLED", "true")
	_, err = p.setup()
	require.NoError(t, err)
	assert.Nil(t, publishedResource(t))
}

// TestProcessContextOfAnotherLibrary: it stays, and Setup works.
func TestProcessContextOfAnotherLibrary(t *testing.T) {
	p := newProgram(t, "user_events")
	other, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "other"}})
	require.NoError(t, err)
	events, _, err := p.run(shop)
	require.NoError(t, err)
	assert.Equal(t, eventsOfShop, events)
	assert.Contains(t, handled.take(), "autoexport: the resource is not published: the process has a process context already")
	assert.Equal(t, map[string]any{"service.name": "other"}, publishedResource(t))
	require.NoError(t, other.Close())
}
