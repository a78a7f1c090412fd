package ueventslog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The environment variables that limit log records.
const (
	envCount  = "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"
	envLength = "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"
)

// TestSameAsSDK: whatever a program emits, a provider of this package writes the same events, to the byte, as the
// SDK with a processor.
func TestSameAsSDK(t *testing.T) {
	testscale.HostOnly(t)
	counts, lengths := []string{"", "-1", "0", "1", "3"}, []string{"", "0", "1", "7"}
	encodings := []ueventslog.Option{nil, ueventslog.WithCommonSchema4()}
	total := testscale.Count(4_000, 800)
	each := total / (len(counts) * len(lengths) * len(encodings))
	seed := uint64(0)
	for _, encoding := range encodings {
		for _, count := range counts {
			for _, length := range lengths {
				seed++
				t.Run(fmt.Sprintf("encoding=%d/count=%s/length=%s", encoding, count, length), func(t *testing.T) {
					t.Setenv(envCount, count)
					t.Setenv(envLength, length)
					t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "shard=8,cloud=private")
					assertSameAsSDK(t, random{rand.New(rand.NewPCG(1, seed))}, each, encoding)
				})
			}
		}
	}
}

func assertSameAsSDK(t *testing.T, r random, n int, encoding ueventslog.Option) {
	opts := []ueventslog.Option{
		encoding,
		ueventslog.WithDeclarations(httpRequest, ueventslog.Declare[number]("undeclared", &ueventslog.DeclarationOptions{Name: "some", Severities: []log.Severity{log.SeverityError}})),
		ueventslog.WithResourceAttributes("shard", "cloud"),
	}
	sdk, sdkTool := traced(t, opts...)
	second := &rig{kernel: ueventstest.New(t, nil)}
	own := second.newOwn(t, forProvider(opts)...)
	ownTool := second.attach(t, "app_*")
	scopes := [][]log.LoggerOption{
		nil,
		{log.WithInstrumentationVersion("v1"), log.WithSchemaURL("https://example.com/1")},
		{log.WithInstrumentationAttributes(
			attribute.Int("n", 1), attribute.KeyValue{Value: attribute.IntValue(1)}, attribute.Map("m", attribute.Int("k", 1), attribute.Int("k", 2)),
			attribute.KeyValue{Key: "deep", Value: r.deep()},
		)},
	}
	contexts := []context.Context{context.Background(), inSpan(context.Background()), inRecordedSpan(context.Background()), nil}
	written := 0
	for i := range n {
		ctx, options := pick(r, contexts), pick(r, scopes)
		record := r.record(when.Add(time.Duration(i)))
		sdk.provider.Logger("my/package", options...).Emit(ctx, record)
		own.Logger("my/package", options...).Emit(ctx, record)
		want, got := sdkTool.Records(), ownTool.Records()
		require.Len(t, got, len(want), "record %d", i)
		require.NotEmpty(t, want, "record %d", i)
		for j := range want {
			require.Equal(t, want[j].Event, got[j].Event, "record %d", i)
			require.Equal(t, strconv.Quote(string(want[j].Payload)), strconv.Quote(string(got[j].Payload)), "record %d", i)
		}
		written += len(want)
	}
	assert.Equal(t, sdk.Stats(), own.Stats())
	assert.GreaterOrEqual(t, written, n)
}
