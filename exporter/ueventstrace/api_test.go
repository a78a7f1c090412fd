package ueventstrace_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
)

// apiCheck is something that OpenTelemetry's API asks of a tracer. They are those of the harness by which opentelemetry-go tests
// implementations, and a few more.
type apiCheck struct {
	name string
	// deviates says that the package comment lists it as a deviation: it holds only if the span is recorded and propagates its ids.
	deviates bool
	holds    func(*own) bool
}

type apiKey struct{}

// start starts a span with one tracer, inside of the span of ctx.
func start(p *own, ctx context.Context, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return p.Tracer("api").Start(ctx, "test", options...)
}

// related compares the ids of a span with those of one started in a context that has it as its parent, local or remote.
func related(p *own, remote bool, options ...trace.SpanStartOption) (sameTrace, sameSpan bool) {
	ctx, parent := start(p, context.Background())
	if remote {
		ctx = trace.ContextWithRemoteSpanContext(context.Background(), parent.SpanContext())
	}
	_, child := start(p, ctx, options...)
	a, b := parent.SpanContext(), child.SpanContext()
	return a.TraceID() == b.TraceID(), a.SpanID() == b.SpanID()
}

// concurrently calls f from several goroutines, and reports whether it was true each time.
func concurrently(f func(i int) bool) bool {
	held := make([]bool, 20)
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() { held[i] = f(i) })
	}
	wg.Wait()
	for _, ok := range held {
		if !ok {
			return false
		}
	}
	return true
}

var apiChecks = []apiCheck{
	{"tracers are made concurrently", false, func(p *own) bool {
		return concurrently(func(i int) bool {
			return p.Tracer(fmt.Sprint(i%5), trace.WithInstrumentationVersion(fmt.Sprint(i))) != nil
		})
	}},
	{"the values of the caller's context stay", false, func(p *own) bool {
		ctx, _ := start(p, context.WithValue(context.Background(), apiKey{}, 1))
		return ctx.Value(apiKey{}) == 1
	}},
	{"the context has the span", false, func(p *own) bool {
		ctx, s := start(p, context.Background())
		return trace.SpanFromContext(ctx) == s
	}},
	{"the span context is valid", true, func(p *own) bool {
		_, s := start(p, context.Background())
		return s.SpanContext().IsValid()
	}},
	{"no span of the program is remote", false, func(p *own) bool {
		_, s := start(p, fromRemote(context.Background(), "a=b"))
		return s.SpanContext().IsValid() && !s.SpanContext().IsRemote()
	}},
	{"the trace ids of roots are unique", true, func(p *own) bool {
		_, a := start(p, context.Background())
		_, b := start(p, context.Background())
		return a.SpanContext().TraceID() != b.SpanContext().TraceID() && a.SpanContext().SpanID() != b.SpanContext().SpanID()
	}},
	{"a child has the trace id of its parent", false, func(p *own) bool {
		sameTrace, _ := related(p, false)
		return sameTrace
	}},
	{"a child has a span id of its own", true, func(p *own) bool {
		_, sameSpan := related(p, false)
		return !sameSpan
	}},
	{"a child of a remote parent has its trace id", false, func(p *own) bool {
		sameTrace, _ := related(p, true)
		return sameTrace
	}},
	{"a child of a remote parent has a span id of its own", true, func(p *own) bool {
		_, sameSpan := related(p, true)
		return !sameSpan
	}},
	{"a new root has ids of its own", true, func(p *own) bool {
		sameTrace, sameSpan := related(p, false, trace.WithNewRoot())
		return !sameTrace && !sameSpan
	}},
	{"a new root with a remote parent has ids of its own", true, func(p *own) bool {
		sameTrace, sameSpan := related(p, true, trace.WithNewRoot())
		return !sameTrace && !sameSpan
	}},
	{"children are started concurrently", true, func(p *own) bool {
		ctx, parent := start(p, context.Background())
		return concurrently(func(int) bool {
			_, child := start(p, ctx)
			a, b := parent.SpanContext(), child.SpanContext()
			return a.TraceID() == b.TraceID() && a.SpanID() != b.SpanID()
		})
	}},
	{"methods are called concurrently, End many times", false, func(p *own) bool {
		ctx, s := start(p, context.Background())
		_, other := s.TracerProvider().Tracer("second").Start(ctx, "test")
		return concurrently(func(int) bool {
			for _, s := range []trace.Span{s, other} {
				s.AddEvent("e")
				s.AddEvent("e", trace.WithTimestamp(time.Now().Add(time.Second)))
				s.SetStatus(codes.Error, "internal")
				s.SetName("renamed")
				s.SetAttributes(attribute.String("a", "b"), attribute.Int("c", 1))
				s.End()
			}
			return true
		})
	}},
}

// TestAPI: recorded spans that propagate their ids do all that the API asks. In other spans, what fails is what the package comment
// lists.
func TestAPI(t *testing.T) {
	for mode, c := range map[string]struct {
		attached bool
		opts     []ueventstrace.ProviderOption
		strict   bool
	}{
		"WithPropagation, a tool attached": {true, []ueventstrace.ProviderOption{ueventstrace.WithPropagation()}, true},
		"WithPropagation, no tool":         {false, []ueventstrace.ProviderOption{ueventstrace.WithPropagation()}, false},
		"a tool attached":                  {true, nil, false},
		"no tool":                          {false, nil, false},
	} {
		t.Run(mode, func(t *testing.T) {
			p := newOwn(t, c.opts...)
			if c.attached {
				p.attach(t, "app_*")
			}
			assert.NotSame(t, p.TracerProvider, newOwn(t).TracerProvider)
			for _, check := range apiChecks {
				assert.Equal(t, c.strict || !check.deviates, check.holds(p), check.name)
			}
		})
	}
}

// TestDisabledIsOneBranch: Start reads where the group of the events is, the address of the enable word and the word, and branches.
// Every function has a branch before, about its stack.
func TestDisabledIsOneBranch(t *testing.T) {
	list := testscale.Disassemble(t)(`ueventstrace\.\(\*tracer\)\.Start`, 2)
	t.Logf("%s", strings.Join(list, "\n"))
	for _, instruction := range list {
		assert.NotContains(t, instruction, "CALL")
	}
	assert.Equal(t, 3, testscale.Loads(list))
}

// spanAttributes are those of the spans that benchmarks make, as an option made once.
var spanAttributes = trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 200))

// BenchmarkDisabled is a span while no tool is attached.
func BenchmarkDisabled(b *testing.B) {
	tracer := newOwn(b).Tracer("x")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, s := tracer.Start(ctx, "s", spanAttributes)
		s.End()
	}
}
