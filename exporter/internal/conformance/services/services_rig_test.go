package services

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
)

// services are three HTTP servers, of which each calls the next one, and the collector that takes their spans. The
// servers stay for all runs of a test, so that the URLs in spans and headers are the same in all of them.
type services struct {
	edge, middle, leaf, collector *httptest.Server
	handlers                      [4]atomic.Pointer[http.Handler]
}

func newServices(t *testing.T) *services {
	testscale.NeedLoopback(t)
	s := new(services)
	for n, server := range []**httptest.Server{&s.edge, &s.middle, &s.leaf, &s.collector} {
		*server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*s.handlers[n].Load()).ServeHTTP(w, r)
		}))
		t.Cleanup((*server).Close)
	}
	return s
}

// outcome is what tracing must not change: the spans and log records that each backend got, without their times, and
// the headers that the last service got.
type outcome map[string][]string

// run is one run of the services: the providers and what they sent.
type run struct {
	*services
	t        *testing.T
	client   *http.Client
	requests sync.WaitGroup // handlers that have not returned

	// point is called where a tool may attach or detach: before a request, and while its spans are open.
	point func()
	// logger is that of the second service. Its backend is "logs".
	logger log.Logger

	mu  sync.Mutex
	got outcome

	shutdown []func(context.Context) error
}

// samplers are those of the first and the last service.
type samplers struct{ edge, leaf sdktrace.Sampler }

// tracerProvider returns the provider of the second service.
type tracerProvider func(*run) trace.TracerProvider

// serve sends requests through the services and returns what came of it.
func (s *services) serve(t *testing.T, requests int, samplers samplers, middle tracerProvider, point func()) outcome {
	t.Helper()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	r := &run{services: s, t: t, client: &http.Client{Transport: transport}, point: point, got: outcome{}}
	r.set(3, http.HandlerFunc(r.collect))
	edge, leaf := r.sdk("edge", 1, sdktrace.WithSampler(samplers.edge)), r.sdk("leaf", 2, sdktrace.WithSampler(samplers.leaf))
	library := r.sdk("library", 3) // of the same process as the second service
	r.set(0, r.instrument(edge, "edge", r.serveEdge(edge)))
	provider := middle(r)
	r.set(1, r.instrument(provider, "middle", r.serveMiddle(provider, library)))
	r.set(2, r.instrument(leaf, "leaf", r.serveLeaf(leaf)))
	for n := range requests {
		r.point()
		r.ask(n)
	}
	r.requests.Wait() // the servers' spans have ended
	for _, shutdown := range r.shutdown {
		require.NoError(t, shutdown(context.WithoutCancel(t.Context())))
	}
	for _, list := range r.got {
		slices.Sort(list) // batches have no order of their own
	}
	return r.got
}

func (r *run) set(n int, h http.Handler) { r.handlers[n].Store(&h) }

// sdk returns a provider of the SDK that sends its spans to a backend of this name, with ids that are the same in each run.
func (r *run) sdk(name string, seed uint64, opts ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	exporter, err := otlptracehttp.New(r.t.Context(), otlptracehttp.WithEndpointURL(r.collector.URL+"/"+name), otlptracehttp.WithHTTPClient(r.client))
	require.NoError(r.t, err)
	return r.ids(name, seed, append(opts, sdktrace.WithBatcher(exporter, sdktrace.WithBlocking()))...)
}

// logs gives the second service a logger of the SDK, with this processor beside the one for its backend.
func (r *run) logs(p sdklog.Processor) {
	exporter, err := otlploghttp.New(r.t.Context(), otlploghttp.WithEndpointURL(r.collector.URL+"/logs"), otlploghttp.WithHTTPClient(r.client))
	require.NoError(r.t, err)
	provider := sdklog.NewLoggerProvider(sdklog.WithResource(resource.Empty()), sdklog.WithProcessor(p), sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	r.shutdown = append(r.shutdown, provider.Shutdown)
	r.logger = provider.Logger("middle")
}

// ids is sdk without a backend.
func (r *run) ids(name string, seed uint64, opts ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	provider := sdktrace.NewTracerProvider(append(opts,
		sdktrace.WithIDGenerator(&ids{random: rand.New(rand.NewPCG(seed, 0))}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))...)
	r.shutdown = append(r.shutdown, provider.Shutdown)
	return provider
}

var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// instrument is what OpenTelemetry recommends for a server.
func (r *run) instrument(provider trace.TracerProvider, name string, h http.HandlerFunc) http.Handler {
	instrumented := otelhttp.NewHandler(h, name, otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(w3c), otelhttp.WithMeterProvider(noop.NewMeterProvider()),
		otelhttp.WithPublicEndpointFn(func(r *http.Request) bool { return r.URL.Path == "/public" }))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		defer r.requests.Done()
		instrumented.ServeHTTP(w, req)
	})
}

// call is what OpenTelemetry recommends for a client.
func (r *run) call(ctx context.Context, provider trace.TracerProvider, url string) {
	client := http.Client{Transport: otelhttp.NewTransport(r.client.Transport, otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(w3c), otelhttp.WithMeterProvider(noop.NewMeterProvider()))}
	r.get(ctx, &client, url, nil)
}

func (r *run) get(ctx context.Context, client *http.Client, url string, headers http.Header) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err == nil {
		req.Header = headers.Clone()
		var resp *http.Response
		if resp, err = client.Do(req); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	if err != nil {
		r.t.Error(err)
	}
}

// ask sends one of the kinds of requests: through all services and to the second one, with and without a span context
// of another program, to a public endpoint, and one within which the second service has spans of the SDK, too.
func (r *run) ask(n int) {
	kind := n % 6
	header := http.Header{}
	if flags := map[int]string{2: "01", 3: "00", 4: "01"}[kind]; flags != "" {
		header.Set("Traceparent", fmt.Sprintf("00-%032x-%016x-%s", 0xabc000+n, 0xdef000+n, flags))
		header.Set("Tracestate", "vendor=1")
		header.Set("Baggage", "tenant=blue")
	}
	url := map[int]string{0: r.edge.URL, 2: r.edge.URL, 4: r.middle.URL + "/public", 5: r.edge.URL + "/library"}[kind]
	if url == "" {
		url = r.middle.URL
	}
	r.get(r.t.Context(), r.client, url, header)
}

func (r *run) serveEdge(provider trace.TracerProvider) http.HandlerFunc {
	member, err := baggage.NewMember("route", "edge")
	require.NoError(r.t, err)
	return func(_ http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		if baggage.FromContext(ctx).Len() == 0 { // the order of several members changes
			bag, err := baggage.New(member)
			if err != nil {
				r.t.Error(err)
			}
			ctx = baggage.ContextWithBaggage(ctx, bag)
		}
		r.call(ctx, provider, r.middle.URL+req.URL.Path)
	}
}

func (r *run) serveMiddle(provider, library trace.TracerProvider) http.HandlerFunc {
	own, foreign := provider.Tracer("middle"), library.Tracer("library")
	return func(_ http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		if req.URL.Path != "/library" {
			ctx, end := r.work(ctx, own)
			defer end()
			r.log(ctx)
			r.call(ctx, provider, r.leaf.URL)
			return
		}
		ctx, endOuter := r.work(ctx, foreign)
		defer endOuter()
		ctx, endOwn := r.work(ctx, own)
		defer endOwn()
		r.log(ctx)
		ctx, endInner := r.work(ctx, foreign)
		defer endInner()
		r.call(ctx, library, r.leaf.URL)
	}
}

// work starts a span, uses it, and returns what ends it.
func (r *run) work(ctx context.Context, tracer trace.Tracer) (context.Context, func()) {
	r.point()
	ctx, span := tracer.Start(ctx, "work", trace.WithAttributes(attribute.Bool("busy", true)))
	trace.SpanFromContext(ctx).AddEvent("working")
	r.point()
	return ctx, func() { r.point(); span.End() }
}

func (r *run) log(ctx context.Context) {
	var record log.Record
	record.SetSeverity(log.SeverityInfo)
	record.SetBody(attribute.StringValue("working"))
	r.logger.Emit(ctx, record)
}

func (r *run) serveLeaf(provider trace.TracerProvider) http.HandlerFunc {
	tracer := provider.Tracer("leaf")
	return func(_ http.ResponseWriter, req *http.Request) {
		_, end := r.work(req.Context(), tracer)
		defer end()
		var text strings.Builder
		if err := req.Header.Write(&text); err != nil { // sorted
			r.t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		// The number keeps the requests in their order.
		r.got["headers"] = append(r.got["headers"], fmt.Sprintf("%04d\n%s", len(r.got["headers"]), text.String()))
	}
}

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

func TestMain(m *testing.M) { leakcheck.Main(m) }
