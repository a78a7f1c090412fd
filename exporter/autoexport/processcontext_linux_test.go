package autoexport_test

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/processcontext"
)

// publishedResource reads the process context of this process by the offsets of OTEP 4719, with protobuf's own parser. It is nil if there is
// none.
func publishedResource(t *testing.T) *resourcepb.Resource {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	if !strings.Contains(string(maps), "OTEL_CTX") {
		return nil
	}
	require.Equal(t, 1, strings.Count(string(maps), "OTEL_CTX"))
	memory, err := os.Open("/proc/self/mem")
	require.NoError(t, err)
	defer memory.Close()
	read := func(at, size int64) []byte {
		b := make([]byte, size)
		_, err := memory.ReadAt(b, at)
		require.NoError(t, err)
		return b
	}
	var at int64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "OTEL_CTX") {
			first, _, _ := strings.Cut(line, "-")
			at, err = strconv.ParseInt(first, 16, 64)
			require.NoError(t, err)
		}
	}
	header := read(at, 32)
	require.Equal(t, "OTEL_CTX", string(header[:8]))
	require.EqualValues(t, 2, binary.NativeEndian.Uint32(header[8:]))
	require.NotZero(t, binary.NativeEndian.Uint64(header[16:]))
	payload := read(int64(binary.NativeEndian.Uint64(header[24:])), int64(binary.NativeEndian.Uint32(header[12:])))
	number, kind, n := protowire.ConsumeTag(payload)
	require.Equal(t, []any{protowire.Number(1), protowire.BytesType}, []any{number, kind})
	message, size := protowire.ConsumeBytes(payload[n:])
	require.Equal(t, len(payload), n+size)
	r := new(resourcepb.Resource)
	require.NoError(t, proto.Unmarshal(message, r))
	return r
}

// TestProcessContext: the resource is published from Setup until the shutdown, with values of all types.
func TestProcessContext(t *testing.T) {
	p := newProgram(t, "user_events")
	shutdown, err := p.setup(autoexport.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "shop"), attribute.String("text", "a\xff"), attribute.Bool("bool", true), attribute.Int64("int", -5),
		attribute.Float64("float", 0.5), attribute.ByteSlice("bytes", []byte{0xff}), attribute.StringSlice("texts", []string{"a", ""}),
		attribute.BoolSlice("bools", []bool{false}), attribute.Int64Slice("ints", []int64{1, 2}), attribute.Float64Slice("floats", []float64{1.5}),
		attribute.Slice("list", attribute.StringValue("x"), attribute.Int64Value(7)),
		attribute.Map("map", attribute.String("k", "v"), attribute.Slice("l")), attribute.KeyValue{Key: "empty"},
	)))
	require.NoError(t, err)
	r := publishedResource(t)
	require.NotNil(t, r)
	got := map[string]string{}
	for _, kv := range r.GetAttributes() {
		b, err := protojson.Marshal(kv.GetValue())
		require.NoError(t, err)
		got[kv.GetKey()] = strings.ReplaceAll(string(b), " ", "")
	}
	for key, want := range map[string]string{
		"service.name": `{"stringValue":"shop"}`, "text": `{"stringValue":"a` + "\uFFFD" + `"}`, "bool": `{"boolValue":true}`, "int": `{"intValue":"-5"}`,
		"float": `{"doubleValue":0.5}`, "bytes": `{"bytesValue":"/w=="}`, "texts": `{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":""}]}}`,
		"bools": `{"arrayValue":{"values":[{"boolValue":false}]}}`, "ints": `{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"2"}]}}`,
		"floats": `{"arrayValue":{"values":[{"doubleValue":1.5}]}}`, "list": `{"arrayValue":{"values":[{"stringValue":"x"},{"intValue":"7"}]}}`,
		"map":   `{"kvlistValue":{"values":[{"key":"k","value":{"stringValue":"v"}},{"key":"l","value":{"arrayValue":{}}}]}}`,
		"empty": `{}`, "host.name": `{"stringValue":"node1"}`, "telemetry.sdk.language": `{"stringValue":"go"}`,
	} {
		assert.Equal(t, want, got[key], key)
	}
	require.NoError(t, shutdown(t.Context()))
	assert.Nil(t, publishedResource(t))
}

// TestWithoutProcessContext: nothing is published if an option says so, if the SDK is disabled, or before Setup.
func TestWithoutProcessContext(t *testing.T) {
	p := newProgram(t, "user_events")
	assert.Nil(t, publishedResource(t))
	shutdown, err := p.setup(autoexport.WithoutProcessContext())
	require.NoError(t, err)
	assert.Nil(t, publishedResource(t))
	require.NoError(t, shutdown(t.Context()))
	t.Setenv("OTEL_SDK_DISABLED", "true")
	shutdown, err = p.setup()
	require.NoError(t, err)
	assert.Nil(t, publishedResource(t))
	require.NoError(t, shutdown(t.Context()))
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
	assert.Len(t, publishedResource(t).GetAttributes(), 1)
	require.NoError(t, other.Close())
}
