package ueventstrace

import (
	"reflect"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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
