package ueventstrace_test

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestEachEvent: every event has a bit of its own.
func TestEachEvent(t *testing.T) {
	for _, event := range []string{"app_span_start", "app_span", "app_span_event", "app_span_link"} {
		rig := newRig(t)
		assert.False(t, rig.Enabled())
		tr := rig.attach(t, event)
		assert.True(t, rig.Enabled())
		spans["everything"](t, rig.tracer())
		got := names(records(t, tr))
		require.NotEmpty(t, got)
		for _, name := range got {
			assert.Equal(t, event, name)
		}
		for name, stats := range rig.Stats() {
			assert.Equal(t, name == event, stats.Written > 0, name)
		}
		tr.Detach()
		assert.False(t, rig.Enabled())
	}
}

// TestOrder: on the timeline a span starts, and when it ends its parts come before it.
func TestOrder(t *testing.T) {
	rig, tr := traced(t)
	spans["everything"](t, rig.tracer())
	assert.Equal(t, []string{"app_span_start", "app_span_link", "app_span_link", "app_span_event", "app_span_event", "app_span"}, names(records(t, tr)))
}

func TestShutdown(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	rig, tr := traced(t)
	_, s := rig.tracer().Start(t.Context(), "open")
	assert.NoError(t, rig.ForceFlush(done))
	require.NoError(t, rig.Shutdown(done))
	require.NoError(t, rig.Shutdown(t.Context()), "again")
	s.End()
	_, s = rig.tracer().Start(t.Context(), "late")
	s.End()
	assert.Equal(t, []string{"app_span_start"}, names(records(t, tr)))
	assert.False(t, rig.Enabled())
	assert.NoError(t, rig.ForceFlush(t.Context()))
	assert.NoError(t, rig.borrowed.Err(), "a borrowed provider stays open")
}

func TestExporterContract(t *testing.T) {
	k, p := recordtest.Kernel(t)
	exporter, err := ueventstrace.NewExporter("app", ueventstrace.WithProvider(p))
	require.NoError(t, err)
	tr := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	stubs := tracetest.SpanStubs{{Name: "a", SpanContext: remote, Resource: res}, {Name: "b", SpanContext: remote}}
	require.NoError(t, exporter.ExportSpans(t.Context(), nil))
	require.NoError(t, exporter.ExportSpans(t.Context(), stubs.Snapshots()))
	assert.Len(t, records(t, tr), 2)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	err = exporter.ExportSpans(done, stubs.Snapshots())
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "stopped after 0 spans")
	assert.Empty(t, tr.Records())
	require.NoError(t, exporter.Shutdown(done))
	assert.ErrorContains(t, exporter.ExportSpans(t.Context(), stubs.Snapshots()), "exporter is shutdown")
	require.NoError(t, exporter.Shutdown(t.Context()), "again")
	assert.Empty(t, tr.Records())
	assert.EqualValues(t, 2, exporter.Stats()["app_span"].Written)
}

// TestConcurrently starts and ends spans while the processor is shut down.
func TestConcurrently(t *testing.T) {
	rig, _ := traced(t, ueventstrace.WithPerfettoSlices())
	provider := rig.newProvider()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				ctx, s := provider.Tracer("x").Start(t.Context(), "s")
				_, child := provider.Tracer("x").Start(ctx, "child")
				s.AddEvent("e")
				child.End()
				s.End()
			}
		})
	}
	wg.Go(func() { assert.NoError(t, rig.Shutdown(t.Context())) })
	wg.Wait()
}

// TestUnusable: the processor that New returns with an error works.
func TestUnusable(t *testing.T) {
	use := func(p *ueventstrace.Processor) {
		require.NotNil(t, p)
		assert.False(t, p.Enabled())
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
		_, s := provider.Tracer("x").Start(t.Context(), "s")
		s.End()
		require.NoError(t, provider.Shutdown(t.Context()))
	}
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	p, err := ueventstrace.NewProcessor("app")
	require.Error(t, err)
	assert.ErrorContains(t, err, `ueventstrace "app"`)
	use(p)

	_, provider := recordtest.Kernel(t)
	p, err = ueventstrace.NewProcessor("no name", ueventstrace.WithProvider(provider))
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	use(p)
	p, err = ueventstrace.NewProcessor("tiny", ueventstrace.WithProvider(provider), ueventstrace.WithMaxPayload(100))
	require.ErrorContains(t, err, "a limit of 100 bytes is too small")
	use(p)
}

// TestLongestName: the declarations of all events keep the kernel's limit with the longest name.
func TestLongestName(t *testing.T) {
	for _, option := range []ueventstrace.Option{ueventstrace.WithPerfettoSlices(), ueventstrace.WithCommonSchema4()} {
		provider := ueventstest.New(t, nil).Provider()
		longest := strings.Repeat("n", 64)
		p, err := ueventstrace.NewProcessor(longest, ueventstrace.WithProvider(provider), option)
		require.NoError(t, err)
		_, err = ueventstrace.NewProcessor(longest+"n", ueventstrace.WithProvider(provider), option)
		require.ErrorIs(t, err, tracepoint.ErrInvalid)
		require.NoError(t, p.Shutdown(t.Context()))
		require.NoError(t, provider.Close())
	}
}

// TestInvalidArguments: they are errors on every machine, and what can be used works.
func TestInvalidArguments(t *testing.T) {
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	_, supported := recordtest.Kernel(t)
	commonSchema := ueventstrace.WithCommonSchema4()
	for _, provider := range []*uevents.Provider{supported, unsupported} {
		for _, c := range []struct {
			name, want string
			opts       []ueventstrace.Option
		}{
			{"my-app", `use "my_app"`, nil},
			{"my-app", `use "my_app"`, []ueventstrace.Option{commonSchema}},
			{"tiny", "a limit of 100 bytes is too small", []ueventstrace.Option{ueventstrace.WithMaxPayload(100)}},
			{"tiny", "a limit of 100 bytes is too small", []ueventstrace.Option{ueventstrace.WithMaxPayload(100), commonSchema}},
			{"negative", "MaxPayload of -1 bytes is negative", []ueventstrace.Option{ueventstrace.WithMaxPayload(-1)}},
			{"slices", "WithPerfettoSlices does not go with CommonSchema4", []ueventstrace.Option{ueventstrace.WithPerfettoSlices(), commonSchema}},
		} {
			p, err := ueventstrace.NewProcessor(c.name, append(c.opts, ueventstrace.WithProvider(provider), nil)...)
			require.ErrorIs(t, err, fs.ErrInvalid, c.name)
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, `ueventstrace "`+c.name+`": `)
			require.NoError(t, p.Shutdown(t.Context()))
		}
	}
}

// TestOptionsOfOthers: an option for other constructors has no effect.
func TestOptionsOfOthers(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	e, err := ueventstrace.NewExporter("app", ueventstrace.WithProvider(p), ueventstrace.WithResource(nil), ueventstrace.WithPropagation(), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	assert.Len(t, e.Stats(), 3)
	_, err = kernel.Format("app_slice")
	assert.Error(t, err)
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, p.Close())
}

// refusing is a kernel that refuses all writes.
type refusing struct{ backend.Backend }

func (refusing) Write([]byte) error { return errno.ENOMEM }

// TestErrors: the kernel's errors are counted, and one in a while is reported, even if the
// handler makes spans of it.
func TestErrors(t *testing.T) {
	k := ueventstest.New(t, nil)
	borrowed := backend.NewProvider(refusing{backend.OpenSimulated(k)}).(*uevents.Provider)
	defer borrowed.Close()
	p, err := ueventstrace.NewProcessor("app", ueventstrace.WithProvider(borrowed))
	require.NoError(t, err)
	e, err := ueventstrace.NewExporter("app", ueventstrace.WithProvider(borrowed))
	require.NoError(t, err)
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	var errs []error
	old := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		errs = append(errs, err)
		_, s := provider.Tracer("handler").Start(t.Context(), "an error")
		s.End()
	}))
	defer otel.SetErrorHandler(old)
	for range 100 {
		_, s := provider.Tracer("x").Start(t.Context(), "s")
		s.End()
	}
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], "ueventstrace: ")
	assert.ErrorIs(t, errs[0], errno.ENOMEM)
	assert.Equal(t, uevents.EventStats{Refused: 101}, p.Stats()["app_span"])

	stubs := tracetest.SpanStubs{{Name: "a", SpanContext: remote}, {Name: "b", SpanContext: remote}}
	err = e.ExportSpans(t.Context(), stubs.Snapshots())
	require.ErrorIs(t, err, errno.ENOMEM)
	assert.ErrorContains(t, err, "2 spans were not written")
	assert.NoError(t, e.ExportSpans(t.Context(), stubs.Snapshots()), "one in a while")
	assert.EqualValues(t, 4, e.Stats()["app_span"].Refused)
}

// TestErrorsOfParts: the kernel's error about any event of a span is the error of the span.
func TestErrorsOfParts(t *testing.T) {
	for _, suffix := range endSuffixes {
		k := ueventstest.New(t, nil)
		borrowed := backend.NewProvider(refusing{backend.OpenSimulated(k)}).(*uevents.Provider)
		e, err := ueventstrace.NewExporter("app", ueventstrace.WithProvider(borrowed))
		require.NoError(t, err)
		recordtest.Attach(t, k, ueventstest.Ftrace, "app"+suffix)
		span := tracetest.SpanStub{SpanContext: remote, Events: make([]sdktrace.Event, 2), Links: make([]sdktrace.Link, 2)}
		require.ErrorIs(t, e.ExportSpans(t.Context(), tracetest.SpanStubs{span}.Snapshots()), errno.ENOMEM, suffix)
		require.NoError(t, e.Shutdown(t.Context()))
		require.NoError(t, borrowed.Close())
	}
}

// TestNilSpans: a span that is nil is ignored; the others of an export are written.
func TestNilSpans(t *testing.T) {
	r, tool := traced(t)
	assert.NotPanics(t, func() { r.OnStart(t.Context(), nil) })
	assert.NotPanics(t, func() { r.OnEnd(nil) })
	borrowed := r.kernel.Provider()
	defer func() { require.NoError(t, borrowed.Close()) }()
	e, err := ueventstrace.NewExporter("app", ueventstrace.WithProvider(borrowed))
	require.NoError(t, err)
	assert.NotPanics(t, func() {
		assert.NoError(t, e.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{nil, tracetest.SpanStub{Name: "s"}.Snapshot()}))
	})
	assert.Len(t, records(t, tool), 1)
}

// TestMetrics: a span counts once, however many records it makes.
func TestMetrics(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	read, stop := testmetrics.Observe()
	defer stop()
	rig, _ := traced(t)
	spans["everything"](t, rig.tracer())
	spans["a root"](t, rig.tracer())
	const metric, component = "otel.sdk.processor.span.processed", "userevents_span_processor/app"
	assert.Equal(t, map[string]int64{component: 2, component + " event_disabled": 0, component + " rejected": 0}, read(metric))
	require.NoError(t, rig.Shutdown(t.Context()))
	assert.Empty(t, read(metric), "nothing is published any more")
}
