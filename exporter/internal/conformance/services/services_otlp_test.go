package services

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// collect takes spans and log records. The path names the backend: each service has its own.
func (r *run) collect(_ http.ResponseWriter, req *http.Request) {
	backend := strings.TrimPrefix(req.URL.Path, "/")
	if backend == "logs" {
		r.collectLogs(req)
		return
	}
	var message tracespb.ExportTraceServiceRequest
	readOTLP(r.t, req, &message)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range message.ResourceSpans {
		for _, in := range of.ScopeSpans {
			for _, span := range in.Spans {
				r.got[backend] = append(r.got[backend], describe(of, in, span))
			}
		}
	}
}

func (r *run) collectLogs(req *http.Request) {
	var message logspb.ExportLogsServiceRequest
	readOTLP(r.t, req, &message)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range message.ResourceLogs {
		for _, in := range of.ScopeLogs {
			for _, record := range in.LogRecords {
				record.TimeUnixNano, record.ObservedTimeUnixNano = 0, 0
				r.got["logs"] = append(r.got["logs"], prototext.Format(record)+prototext.Format(in.Scope))
			}
		}
	}
}

// readOTLP reads the message of a request.
func readOTLP(t *testing.T, r *http.Request, m proto.Message) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, m)
	}
	if err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
	}
}

// describe returns all of a span but its times and the port that the client happened to get.
func describe(of *tracepb.ResourceSpans, in *tracepb.ScopeSpans, span *tracepb.Span) string {
	span.StartTimeUnixNano, span.EndTimeUnixNano = 0, 0
	for _, e := range span.Events {
		e.TimeUnixNano = 0
	}
	span.Attributes = slices.DeleteFunc(span.Attributes, func(kv *commonpb.KeyValue) bool { return kv.Key == "network.peer.port" })
	return fmt.Sprintf("trace %x span %x parent %x flags %x: %s\n%s\n%s", span.TraceId, span.SpanId, span.ParentSpanId, span.Flags,
		prototext.Format(span), prototext.Format(in.Scope), prototext.Format(of.Resource))
}

// ids are random and the same in each run.
type ids struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (g *ids) NewIDs(ctx context.Context) (id trace.TraceID, _ trace.SpanID) {
	g.mu.Lock()
	binary.BigEndian.PutUint64(id[:8], g.random.Uint64())
	binary.BigEndian.PutUint64(id[8:], g.random.Uint64())
	g.mu.Unlock()
	return id, g.NewSpanID(ctx, id)
}

func (g *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	binary.BigEndian.PutUint64(id[:], g.random.Uint64())
	return id
}
