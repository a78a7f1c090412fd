package commonschema

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func TestAppendTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for ns, want := range map[int]string{
		0:           "2026-11-21T09:20:30Z",
		120_000_000: "2026-11-21T09:20:30.120Z",
		120_030_000: "2026-11-21T09:20:30.120030Z",
		120_030_004: "2026-11-21T09:20:30.120030004Z",
		1:           "2026-11-21T09:20:30.000000001Z",
	} {
		assert.Equal(t, want, string(appendTime(nil, time.Date(2026, 11, 21, 10, 20, 30, ns, zone))))
	}
}

// TestCheckLimit: under an accepted limit, a record with a long text keeps its time and ids.
func TestCheckLimit(t *testing.T) {
	h := eventheader.Header{Name: "Log", Level: eventheader.LevelInfo}
	least := 0
	for limit := range 4000 {
		if err := CheckLimit(limit, h, func(*eventheader.Encoder) {}); err == nil {
			least = limit
			break
		} else {
			require.ErrorContains(t, err, "too small")
		}
	}
	for limit := least; limit < least+100; limit++ {
		require.NoError(t, CheckLimit(limit, h, func(*eventheader.Encoder) {}))
		e := Begin(nil, &h, limit)
		PartA(e, time.Unix(0, 1), trace.TraceID{1}, trace.SpanID{1}, trace.FlagsSampled, &attrs.Described{})
		Text(e, "body", strings.Repeat("x", 5000))
		buf, truncated, err := End(e)
		require.NoError(t, err)
		assert.Positive(t, truncated)
		ev, err := eventheader.Decode("app_L4K1", buf[uevents.IndexSize:])
		require.NoError(t, err)
		text, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		for _, want := range []string{`"1970-01-01T00:00:00.000000001Z"`, `"01000000000000000000000000000000"`, `"0100000000000000"`, `"ext_dt_traceFlags":1`} {
			assert.Contains(t, string(text), want)
		}
	}
}

// TestKeywords: log records and spans of one provider are different tracepoints.
func TestKeywords(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	set := eventset.Open("test", "app", eventset.Options{Provider: p})
	defer func() { require.NoError(t, set.Close()) }()
	for name, keyword := range map[string]uint64{"app_L4K1": KeywordLogs, "app_L4K4": KeywordSpans} {
		e, err := Register(set, "app", keyword, eventheader.Header{Name: "e", Level: eventheader.LevelInfo}, func(*eventheader.Encoder) {})
		require.NoError(t, err)
		assert.Equal(t, name, e.Name())
	}
}
