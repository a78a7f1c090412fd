package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/reader"
)

func appendPoint(b []byte, p *reader.Point) []byte {
	put := func(name string, v reader.Value) {
		if v.Type() != reader.TypeNull {
			b = append(b, ' ')
			b = append(b, name...)
			b = append(b, '=')
			b = v.AppendText(b)
		}
	}
	start := len(b)
	b = append(b, ' ')
	b = append(b, p.Type.String()...)
	put("value", p.Value)
	if p.Type == reader.PointHistogram || p.Type == reader.PointExponentialHistogram || p.Type == reader.PointSummary {
		put("count", reader.Uint64Value(p.Count))
		put("sum", p.Sum)
		put("min", p.Min)
		put("max", p.Max)
	}
	for _, q := range p.Quantiles {
		b = append(b, " p"...)
		b = strconv.AppendFloat(b, q.Quantile*100, 'g', 6, 64)
		b = append(b, '=')
		b = attrjson.AppendFloat(b, q.Value)
	}
	if p.Unit != "" {
		put("unit", reader.StringValue(p.Unit))
	}
	return append(b[:start], b[start+1:]...)
}

var pointMembers = []member[reader.Point]{
	named("type", "", 0, reader.PointOTLP, func(p *reader.Point) *reader.PointType { return &p.Type }),
	str("unit", "", func(p *reader.Point) *string { return &p.Unit }),
	named("temporality", "", reader.TemporalityDelta, reader.TemporalityCumulative, func(p *reader.Point) *reader.Temporality { return &p.Temporality }),
	truth("monotonic", "", func(p *reader.Point) *bool { return &p.Monotonic }),
	moment("start_time", "", func(p *reader.Point) *time.Time { return &p.StartTime }),
	numeric("value", func(p *reader.Point) *reader.Value { return &p.Value }),
	count("count", func(p *reader.Point) *uint64 { return &p.Count }),
	numeric("sum", func(p *reader.Point) *reader.Value { return &p.Sum }),
	numeric("min", func(p *reader.Point) *reader.Value { return &p.Min }),
	numeric("max", func(p *reader.Point) *reader.Value { return &p.Max }),
	array("bounds", "", floats, func(p *reader.Point) *[]float64 { return &p.Bounds }),
	array("bucket_counts", "", counts, func(p *reader.Point) *[]uint64 { return &p.BucketCounts }),
	exponential(always("scale", "", func(p *reader.Point) *int32 { return &p.Scale })),
	exponential(count("zero_count", func(p *reader.Point) *uint64 { return &p.ZeroCount })),
	exponential(float("zero_threshold", false, func(p *reader.Point) *float64 { return &p.ZeroThreshold })),
	exponential(buckets("positive", func(p *reader.Point) *reader.Buckets { return &p.Positive })),
	exponential(buckets("negative", func(p *reader.Point) *reader.Buckets { return &p.Negative })),
	array("quantiles", "", quantiles, func(p *reader.Point) *[]reader.Quantile { return &p.Quantiles }),
	fields("filtered_attributes", "", func(p *reader.Point) *[]reader.Field { return &p.FilteredAttributes }),
	{
		name: "request",
		append: func(b []byte, p *reader.Point, _ *clock, json bool) []byte {
			if len(p.Request) == 0 {
				return b
			}
			return appendValue(b, reader.BytesValue(p.Request), json)
		},
		parse: func(p *reader.Point, v reader.Value) (err error) {
			p.Request, err = parseBytes(v)
			return err
		},
	},
}

// exponential leaves a member out of other points than exponential histograms.
func exponential(m member[reader.Point]) member[reader.Point] {
	all := m.append
	m.append = func(b []byte, p *reader.Point, c *clock, json bool) []byte {
		if p.Type != reader.PointExponentialHistogram {
			return b
		}
		return all(b, p, c, json)
	}
	return m
}

var bucketMembers = []member[reader.Buckets]{
	always("offset", "", func(s *reader.Buckets) *int32 { return &s.Offset }),
	array("counts", "", counts, func(s *reader.Buckets) *[]uint64 { return &s.Counts }),
}

func buckets(name string, at func(*reader.Point) *reader.Buckets) member[reader.Point] {
	return member[reader.Point]{
		name: name,
		append: func(b []byte, p *reader.Point, c *clock, _ bool) []byte {
			if len(at(p).Counts) == 0 {
				return b
			}
			return appendObject(b, bucketMembers, at(p), c)
		},
		parse: func(p *reader.Point, v reader.Value) error { return parseObject(bucketMembers, at(p), v) },
	}
}

var quantileMembers = []member[reader.Quantile]{
	float("quantile", true, func(q *reader.Quantile) *float64 { return &q.Quantile }),
	float("value", true, func(q *reader.Quantile) *float64 { return &q.Value }),
}

// quantiles refuses a quantile without one of its members, which is not that of 0.
var quantiles = element[reader.Quantile]{
	append: objects(quantileMembers).append,
	parse: func(v reader.Value) (reader.Quantile, error) {
		for _, m := range quantileMembers {
			if _, ok := v.Lookup(m.name); !ok {
				return reader.Quantile{}, fmt.Errorf("no %s", m.name)
			}
		}
		return objects(quantileMembers).parse(v)
	},
}

// nestedEvents are the members of an event of a span.
var nestedEvents = objects([]member[reader.NestedEvent]{
	str("name", "", func(e *reader.NestedEvent) *string { return &e.Name }),
	moment("timestamp", "", func(e *reader.NestedEvent) *time.Time { return &e.Time }),
	number("dropped_attributes", "", func(e *reader.NestedEvent) *uint32 { return &e.DroppedAttributes }),
	fields("fields", "", func(e *reader.NestedEvent) *[]reader.Field { return &e.Attributes }),
})

var nestedLinks = objects([]member[reader.NestedLink]{
	id("trace_id", "", func(l *reader.NestedLink) []byte { return l.TraceID[:] }),
	id("span_id", "", func(l *reader.NestedLink) []byte { return l.SpanID[:] }),
	number("trace_flags", "", func(l *reader.NestedLink) *uint8 { return &l.TraceFlags }),
	str("trace_state", "", func(l *reader.NestedLink) *string { return &l.TraceState }),
	number("dropped_attributes", "", func(l *reader.NestedLink) *uint32 { return &l.DroppedAttributes }),
	fields("fields", "", func(l *reader.NestedLink) *[]reader.Field { return &l.Attributes }),
})

// headerMembers are the members of the header of an EventHeader event.
var headerMembers = []member[reader.Header]{
	str("name", "", func(h *reader.Header) *string { return &h.Name }),
	number("id", "", func(h *reader.Header) *uint16 { return &h.ID }),
	number("version", "", func(h *reader.Header) *uint8 { return &h.Version }),
	number("tag", "", func(h *reader.Header) *uint16 { return &h.Tag }),
	number("opcode", "", func(h *reader.Header) *uint8 { return &h.Opcode }),
	number("level", "", func(h *reader.Header) *uint8 { return &h.Level }),
	id("activity_id", "", func(h *reader.Header) []byte { return h.ActivityID[:] }),
	id("related_activity_id", "", func(h *reader.Header) []byte { return h.RelatedID[:] }),
}

func appendHeader(b []byte, ev *reader.Event, c *clock, _ bool) []byte {
	if ev.Header == nil {
		return b
	}
	return appendObject(b, headerMembers, ev.Header, c)
}

// parseHeader reads the header. The rest of it is in the name of the tracepoint, an earlier member.
func parseHeader(ev *reader.Event, v reader.Value) error {
	ev.Header = &reader.Header{}
	if name, err := eventheader.ParseName(ev.Name); err == nil {
		ev.Header.Provider, ev.Header.Keyword = name.Provider, name.Keyword
	}
	return parseObject(headerMembers, ev.Header, v)
}

var addresses = element[uint64]{
	append: func(b []byte, e *uint64, _ *clock) []byte {
		return append(strconv.AppendUint(append(b, `"0x`...), *e, 16), '"')
	},
	parse: func(v reader.Value) (uint64, error) {
		digits, ok := strings.CutPrefix(v.Text(), "0x")
		address, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || !ok {
			return 0, fmt.Errorf("no address: %s", v)
		}
		return address, nil
	},
}
