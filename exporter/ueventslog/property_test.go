package ueventslog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/testattrs"
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
	for e, encoding := range encodings {
		for _, count := range counts {
			for _, length := range lengths {
				seed++
				t.Run(fmt.Sprintf("encoding=%d/count=%s/length=%s", e, count, length), func(t *testing.T) {
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
	own := second.newOwn(t, opts...)
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

// random makes log records of all that the API can say.
type random struct{ *rand.Rand }

// randomTexts are hostile, or are cut by a limit of a few characters.
var randomTexts = []string{
	"", "a", "GET", "/users/{id}", "ä", "äöüßé", "日本語のテキスト", "\xff", "abc\xffdef", "\xc3", "a\xed\xa0\x80b\xfe", "�x", "abcdef�",
	"a\nb", "\x00", "tab\there", `quote " and \ backslash`, "\x1b[31m", "\u2028", "\u202e", strings.Repeat("x", 70), strings.Repeat("äö\n", 60), strings.Repeat("\xff", 40),
	strings.Repeat("long ", 1200),
}

func pick[E any](r random, list []E) E { return list[r.IntN(len(list))] }

func (r random) text() string { return pick(r, randomTexts) }

// key returns one of few keys, so that many are there twice, or one of many.
func (r random) key() attribute.Key {
	switch r.IntN(12) {
	case 0:
		return pick(r, []attribute.Key{"", "exception.type", "exception.message", "event_id", "severity_text", "otel.scope.name"})
	case 1:
		return attribute.Key(r.text())
	case 2, 3, 4:
		return attribute.Key(fmt.Sprint("key", r.IntN(200)))
	default:
		return pick(r, []attribute.Key{"a", "b", "c", "http.request.method", "http.response.status_code", "latency", "http.route"})
	}
}

func (r random) float() float64 {
	return pick(r, []float64{0, 1, -0.5, 1e300, math.Pi, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)})
}

func (r random) int() int64 {
	return pick(r, []int64{0, 1, -1, 200, 503, 70000, math.MaxInt64, math.MinInt64, r.Int64()})
}

// value returns a value in which lists and maps go down by at most depth.
func (r random) value(depth int) attribute.Value {
	values := testattrs.Values{Rand: r.Rand, Most: 6, Text: r.text, Key: r.key, Int: r.int, Float: r.float}
	return values.Value(depth)
}

func (r random) attribute(depth int) attribute.KeyValue {
	return attribute.KeyValue{Key: r.key(), Value: r.value(depth)}
}

// deep returns a value that is deeper than the SDK's limit.
func (r random) deep() attribute.Value {
	v := attribute.StringSliceValue([]string{"deep"})
	for range 55 + r.IntN(15) {
		if r.IntN(2) == 0 {
			v = attribute.SliceValue(v, attribute.Value{})
		} else {
			v = attribute.MapValue(attribute.Int("k", 1), attribute.KeyValue{Key: "k", Value: v}, attribute.Int("n", 1))
		}
	}
	return v
}

// Errors of several kinds.
type (
	statedError  struct{ stated string }
	pointerError struct{ text string }
	intError     int
)

func (e statedError) Error() string     { return "stated" }
func (e statedError) ErrorType() string { return e.stated }
func (e *pointerError) Error() string   { return e.text }
func (e intError) Error() string        { return fmt.Sprint(int(e)) }

func (r random) err() error {
	return pick(r, []error{
		nil, nil, nil, errors.New(r.text()),
		statedError{},
		statedError{"my.Type"},
		&pointerError{"pointer"}, &pointerError{}, intError(3),
		fmt.Errorf("get: %w", &pointerError{"inner"}), fmt.Errorf("a: %w", fmt.Errorf("b: %w", intError(1))), fmt.Errorf("no %d", 1),
		fmt.Errorf("nil: %w", nil), errors.Join(intError(1), intError(2)), fmt.Errorf("%w and %w", intError(1), intError(2)),
	})
}

// record returns a record that is observed at a given time.
func (r random) record(observed time.Time) (record log.Record) {
	record.SetObservedTimestamp(observed)
	if r.IntN(3) > 0 {
		record.SetTimestamp(pick(r, []time.Time{when, time.Unix(-1, 0), time.Unix(0, 1), time.Unix(1<<40, 5)}))
	}
	record.SetSeverity(log.Severity(r.IntN(27) - 1))
	if r.IntN(50) == 0 {
		record.SetSeverity(pick(r, []log.Severity{math.MaxInt, math.MinInt, 100}))
	}
	if r.IntN(2) == 0 {
		record.SetSeverityText(r.text())
	}
	if r.IntN(2) == 0 {
		record.SetEventName(pick(r, []string{"http.request", "undeclared", " ", r.text()}))
	}
	if r.IntN(4) > 0 {
		record.SetBody(r.value(3))
	}
	n := r.IntN(8)
	if r.IntN(20) == 0 {
		n = r.IntN(150)
	}
	for range n {
		record.AddAttributes(r.attribute(3))
	}
	if r.IntN(200) == 0 {
		record.AddAttributes(attribute.KeyValue{Key: "deep", Value: r.deep()})
	}
	record.SetErr(r.err())
	return record
}
