package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/examples/internal/decoded"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// decode returns the records that a tool has got.
func decode(t *testing.T, tool *ueventstest.Tool) []decoded.Record {
	list, err := decoded.Records(tool)
	require.NoError(t, err)
	return list
}

// environment has what the service reads, and nothing of the machine's. An empty endpoint means none.
func environment(t *testing.T, endpoint string) {
	for _, variable := range []string{
		"OTEL_SERVICE_NAME", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_GO_X_OBSERVABILITY",
		"OTEL_RESOURCE_ATTRIBUTES", "OTEL_SDK_DISABLED", "OTEL_PROPAGATORS", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_CONFIG_FILE",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
	} {
		t.Setenv(variable, "") // and back again after the test
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	if endpoint != "" { // as the manifest
		t.Setenv("OTEL_TRACES_EXPORTER", "otlp,user_events")
		t.Setenv("OTEL_METRICS_EXPORTER", "otlp,user_events")
		t.Setenv("OTEL_LOGS_EXPORTER", "otlp")
	}
}

// backend takes OTLP over HTTP.
type backend struct {
	*httptest.Server
	mu      sync.Mutex
	traces  []string // ids, of each span
	logs    []decoded.Record
	metrics map[string]bool // names
}

func newBackend(t *testing.T) *backend {
	b := &backend{metrics: map[string]bool{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if assert.NoError(t, err) {
			b.take(t, path.Base(r.URL.Path), body)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) take(t *testing.T, signal string, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch signal {
	case "traces":
		var m tracespb.ExportTraceServiceRequest
		assert.NoError(t, proto.Unmarshal(body, &m))
		for _, of := range m.ResourceSpans {
			for _, in := range of.ScopeSpans {
				for _, span := range in.Spans {
					b.traces = append(b.traces, hex.EncodeToString(span.TraceId))
				}
			}
		}
	case "logs":
		var m logspb.ExportLogsServiceRequest
		assert.NoError(t, proto.Unmarshal(body, &m))
		for _, of := range m.ResourceLogs {
			for _, in := range of.ScopeLogs {
				for _, r := range in.LogRecords {
					b.logs = append(b.logs, decoded.Record{"message": r.Body.GetStringValue(), "trace_id": hex.EncodeToString(r.TraceId)})
				}
			}
		}
	case "metrics":
		var m metricspb.ExportMetricsServiceRequest
		assert.NoError(t, proto.Unmarshal(body, &m))
		for _, of := range m.ResourceMetrics {
			for _, in := range of.ScopeMetrics {
				for _, one := range in.Metrics {
					b.metrics[one.Name] = true
				}
			}
		}
	default:
		assert.Fail(t, signal)
	}
}

// address waits until the service serves, and returns its URL.
func address(t *testing.T, out *syncbuffer.Buffer) (url string) {
	serving := regexp.MustCompile(`"msg":"serving","url":"([^"]+)"`)
	testscale.Eventually(t, func() bool {
		found := serving.FindStringSubmatch(out.String())
		if found != nil {
			url = found[1]
		}
		return found != nil
	}, "the service does not serve")
	return url
}

// TestMain fails the package when its tests leave something behind. A child of TestDashboard is the service itself.
func TestMain(m *testing.M) {
	limit = testscale.Patience // nothing is lost because a machine is slow
	if os.Getenv(envChild) != "" {
		os.Exit(child())
	}
	leakcheck.Main(m)
}
