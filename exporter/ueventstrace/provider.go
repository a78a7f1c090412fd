package ueventstrace

import (
	"context"
	"errors"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// TracerProvider is a [trace.TracerProvider] that writes spans as user events, without the SDK: the events of
// [NewProcessor], written when and where a span starts, gets an event or a link, and ends. While they are disabled, which Start
// checks with three loads and one branch, it returns a span that does not record. [NewTracerProvider] returns TracerProviders.
//
// Attaching a tracing tool does not change what the program propagates: SpanContext of a span is that of its caller,
// or empty, whether the span is recorded or not. The package comment lists how that differs from OpenTelemetry's API.
//
// Methods may be called concurrently, also during and after Shutdown.
type TracerProvider struct {
	embedded.TracerProvider

	events
	limits     sdktrace.SpanLimits
	attributes attrs.Limits // of spans: the same
	resource   *attrs.Described
	propagates bool
	tracers    component.Scopes[tracer]
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider registers the events of a provider called name, which are those of [NewProcessor]. Name and errors
// are as in NewProcessor: the provider returned is never nil and always works.
//
// The resource is the one of [WithResource]. The limits of spans are those that the environment sets for the SDK
// (OTEL_SPAN_*, OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT, OTEL_LINK_ATTRIBUTE_COUNT_LIMIT), or its defaults. Call
// [TracerProvider.Shutdown] when the program ends.
func NewTracerProvider(name string, opts ...Option) (*TracerProvider, error) {
	c := component.Apply(config{}, opts)
	s, err := newSink(name, selfobs.SpanProcessor, allEvents, &c)
	res, resErr := component.ProviderResource("ueventstrace", c.resource)
	p := &TracerProvider{
		events:     events{s},
		resource:   s.Resources.Describe(res),
		propagates: c.propagates,
	}
	p.setLimits(sdktrace.NewSpanLimits())
	return p, errors.Join(err, resErr)
}

func (p *TracerProvider) setLimits(l sdktrace.SpanLimits) {
	p.limits = l
	p.attributes = attrs.Limits{Count: l.AttributeCountLimit, Length: l.AttributeValueLengthLimit, Depth: attrs.DepthLimit}
}

// Tracer returns the tracer of an instrumentation scope. Tracers are kept: to ask for one again takes a look-up in a
// map and does not allocate, so that [trace.Tracer.Start] may follow directly.
func (p *TracerProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	scope := instrumentation.Scope{Name: name}
	if len(options) > 0 {
		c := trace.NewTracerConfig(component.WithoutNil(options)...)
		scope.Version, scope.SchemaURL, scope.Attributes = c.InstrumentationVersion(), c.SchemaURL(), c.InstrumentationAttributes()
	}
	if t := p.tracers.Get(scope); t != nil {
		return t
	}
	return p.tracers.Add(scope, newTracer(p, scope))
}

// newTracer returns a tracer. Its scope has the attributes that the limits allow.
func newTracer(p *TracerProvider, scope instrumentation.Scope) *tracer {
	if list := scope.Attributes.ToSlice(); len(list) > 0 {
		list = attrs.LimitedDepth(list, p.attributes.Depth)
		scope.Attributes = attribute.NewSet(list...)
	}
	return &tracer{all: p.sink.All, sink: p.sink, provider: p, origin: newOrigin(scope, p.resource, p.sink.Limit)}
}

type tracer struct {
	embedded.Tracer

	all      *uevents.Group // of the sink: the check that comes first takes two loads less
	sink     *sink          // of the provider
	provider *TracerProvider
	origin   *origin
}

// Start starts a span. It is recorded if an event of the provider is enabled.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !t.all.Enabled() {
		return t.startIdle(ctx, options)
	}
	return t.startRecording(ctx, name, options)
}

// startIdle returns a span that is not recorded, and its context. It does not allocate inside of another such span.
func (t *tracer) startIdle(ctx context.Context, options []trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	caller := trace.SpanFromContext(ctx)
	if reflect.TypeOf(caller) == noSpan || len(options) > 0 && isNewRoot(options) {
		caller = nil
	} else if s, ok := caller.(*idleSpan); ok && s.tracer.provider == t.provider {
		return ctx, s
	}
	s := &idleSpan{Context: ctx, Span: caller, tracer: t}
	return s, s
}

func (t *tracer) startRecording(ctx context.Context, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	o := readOptions(options)
	s, room := newSpan(o.length)
	s.tracer = t
	d := &s.data
	d.kind, d.name, d.origin = trace.SpanKindInternal, name, t.origin
	if ctx == nil {
		ctx = context.Background()
	}
	var links []trace.Link
	newRoot := false
	if len(options) > 0 {
		links, newRoot = s.apply(&o, options, room)
	}
	isRoot := newRoot || !s.enter(ctx, trace.SpanFromContext(ctx))
	if isRoot && t.provider.propagates {
		d.context.flags |= trace.FlagsSampled // services that follow their parent would drop what says 0
	}
	d.context.setNewIDs()
	if d.start.IsZero() {
		d.start = time.Now()
	}
	t.sink.start(d)
	for i := range links {
		s.AddLink(links[i])
	}
	return &spanContext{ctx, s}, s
}

// enter makes the span one inside of that of its context, which may be that of a context without a span. The trace in events is
// the caller's, so that events correlate with what other programs record, or that of the nearest recorded span. enter reports
// whether the caller propagates a span.
func (s *recordingSpan) enter(ctx context.Context, parent trace.Span) bool {
	if reflect.TypeOf(parent) == noSpan {
		return false
	}
	d := &s.data
	caller := parent.SpanContext()
	d.parent = identityAround(ctx, parent)
	switch p := parent.(type) { // what is propagated is that of a span further out, and others need not be kept
	case *recordingSpan:
		if !p.tracer.provider.propagates {
			parent = p.Span
		}
	case *idleSpan:
		parent = p.Span
	}
	s.Span = parent
	d.context.traceID = caller.TraceID()
	if !d.context.traceID.IsValid() {
		d.context.traceID = d.parent.traceID
	}
	d.context.flags, d.state = caller.TraceFlags(), caller.TraceState()
	return caller.IsValid()
}

// identityAround returns the ids of the parent of a record in a span, which is that of ctx: those that the nearest span of this
// package has in events, or if there is none those that the span propagates.
func identityAround(ctx context.Context, span trace.Span) identity {
	switch p := eventspan.Of(ctx, span).(type) {
	case *recordingSpan:
		return p.data.context
	case *idleSpan:
		return p.identity()
	default:
		return identityOf(span.SpanContext())
	}
}

// local returns what a span propagates inside of another one, or as a root.
func local(caller trace.Span) trace.SpanContext {
	if caller == nil {
		return trace.SpanContext{}
	}
	return caller.SpanContext().WithRemote(false)
}

// noSpan is the type of the span of a context that has none.
var noSpan = reflect.TypeOf(trace.SpanFromContext(context.Background()))

// attributesType is the type of WithAttributes: a slice of attributes, as long as OpenTelemetry does not change it, or
// else nil.
var attributesType = func() reflect.Type {
	t := reflect.TypeOf(trace.WithAttributes())
	if t.Kind() != reflect.Slice || t.Elem() != reflect.TypeFor[attribute.KeyValue]() {
		return nil
	}
	return t
}()

// timestampType is the type of WithTimestamp, configType that of WithNewRoot, WithLinks and WithSpanKind.
var timestampType, configType = reflect.TypeOf(trace.WithTimestamp(time.Time{})), reflect.TypeOf(trace.WithNewRoot())

// startOptions are the options of a span. Attributes, which nearly all spans have, are copied right from their option into
// the span: [trace.NewSpanStartConfig] copies them into a slice of its own. That is so if no option has a type that is not
// OpenTelemetry's: it may have attributes, too, and the order of options counts.
type startOptions struct {
	attributes trace.SpanStartOption // the first of attributesType
	length     int                   // how many it has
	others     bool                  // there are other options that are not nil
}

func readOptions(options []trace.SpanStartOption) (o startOptions) {
	for _, option := range options {
		switch t := reflect.TypeOf(option); {
		case t == nil:
		case t == attributesType && o.attributes == nil:
			o.attributes, o.length = option, reflect.ValueOf(option).Len()
		case t == attributesType || t == timestampType || t == configType:
			o.others = true
		default:
			return startOptions{others: true}
		}
	}
	return o
}

// apply applies the options to a new span, which has room for the attributes. It returns the links, and whether the span is a
// new root.
func (s *recordingSpan) apply(o *startOptions, options []trace.SpanStartOption, room []attribute.KeyValue) (links []trace.Link, newRoot bool) {
	limits := &s.tracer.provider.attributes
	if o.length > 0 {
		room = room[:o.length]
		reflect.Copy(reflect.ValueOf(room), reflect.ValueOf(o.attributes))
		s.data.attributes.Take(room, limits)
	}
	if !o.others {
		return nil, false
	}
	others := make([]trace.SpanStartOption, 0, 8)
	first := o.attributes != nil
	for _, option := range options {
		switch {
		case option == nil:
		case first && reflect.TypeOf(option) == attributesType:
			first = false
		default:
			others = append(others, option)
		}
	}
	c := trace.NewSpanStartConfig(others...)
	s.data.kind, s.data.start = trace.ValidateSpanKind(c.SpanKind()), c.Timestamp()
	s.data.attributes.AddAll(c.Attributes(), limits)
	return c.Links(), c.NewRoot()
}

// isNewRoot reports whether WithNewRoot is one of the options, maybe inside of an option of another package's type. It does
// not look into attributes, which cost the most.
func isNewRoot(options []trace.SpanStartOption) bool {
	for i, o := range options {
		if t := reflect.TypeOf(o); t == nil || t == attributesType || t == timestampType {
			continue
		}
		if c := trace.NewSpanStartConfig(options[i : i+1]...); c.NewRoot() {
			return true
		}
	}
	return false
}

// newSpan returns a span, and room for so many attributes, of which a few are in the same object.
func newSpan(attributes int) (*recordingSpan, []attribute.KeyValue) {
	switch attributes {
	case 0:
		return &recordingSpan{}, nil
	case 1, 2:
		s := &struct {
			recordingSpan
			room [2]attribute.KeyValue
		}{}
		return &s.recordingSpan, s.room[:]
	case 3, 4:
		s := &struct {
			recordingSpan
			room [4]attribute.KeyValue
		}{}
		return &s.recordingSpan, s.room[:]
	default:
		return &recordingSpan{}, make([]attribute.KeyValue, attributes)
	}
}
