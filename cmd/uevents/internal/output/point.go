package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/record"
)

func appendPoint(b []byte, p *record.Point) []byte {
	put := func(name string, v record.Value) {
		if v.Type() != record.TypeNull {
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
	if p.Type == record.PointHistogram || p.Type == record.PointExponentialHistogram || p.Type == record.PointSummary {
		put("count", record.Uint64Value(p.Count))
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
		put("unit", record.StringValue(p.Unit))
	}
	return append(b[:start], b[start+1:]...)
}

var pointMembers = []member[record.Point]{
	named("type", "", 0, record.PointOTLP, func(p *record.Point) *record.PointType { return &p.Type }),
	str("unit", "", func(p *record.Point) *string { return &p.Unit }),
	named("temporality", "", record.TemporalityDelta, record.TemporalityCumulative, func(p *record.Point) *record.Temporality { return &p.Temporality }),
	truth("monotonic", "", func(p *record.Point) *bool { return &p.Monotonic }),
	moment("start_time", "", func(p *record.Point) *time.Time { return &p.StartTime }),
	numeric("value", func(p *record.Point) *record.Value { return &p.Value }),
	count("count", func(p *record.Point) *uint64 { return &p.Count }),
	numeric("sum", func(p *record.Point) *record.Value { return &p.Sum }),
	numeric("min", func(p *record.Point) *record.Value { return &p.Min }),
	numeric("max", func(p *record.Point) *record.Value { return &p.Max }),
	array("bounds", "", floats, func(p *record.Point) *[]float64 { return &p.Bounds }),
	array("bucket_counts", "", counts, func(p *record.Point) *[]uint64 { return &p.BucketCounts }),
	exponential(always("scale", "", func(p *record.Point) *int32 { return &p.Scale })),
	exponential(count("zero_count", func(p *record.Point) *uint64 { return &p.ZeroCount })),
	exponential(float("zero_threshold", false, func(p *record.Point) *float64 { return &p.ZeroThreshold })),
	exponential(buckets("positive", func(p *record.Point) *record.Buckets { return &p.Positive })),
	exponential(buckets("negative", func(p *record.Point) *record.Buckets { return &p.Negative })),
	array("quantiles", "", quantiles, func(p *record.Point) *[]record.Quantile { return &p.Quantiles }),
	fields("filtered_attributes", "", func(p *record.Point) *[]record.Field { return &p.FilteredAttributes }),
	{
		name: "request",
		append: func(b []byte, p *record.Point, _ *clock, json bool) []byte {
			if len(p.Request) == 0 {
				return b
			}
			return appendValue(b, record.BytesValue(p.Request), json)
		},
		parse: func(p *record.Point, v *record.Value) (err error) {
			p.Request, err = parseBytes(v)
			return err
		},
	},
}

// exponential leaves a member out of other points than exponential histograms.
func exponential(m member[record.Point]) member[record.Point] {
	all := m.append
	m.append = func(b []byte, p *record.Point, c *clock, json bool) []byte {
		if p.Type != record.PointExponentialHistogram {
			return b
		}
		return all(b, p, c, json)
	}
	return m
}

var bucketMembers = []member[record.Buckets]{
	always("offset", "", func(s *record.Buckets) *int32 { return &s.Offset }),
	array("counts", "", counts, func(s *record.Buckets) *[]uint64 { return &s.Counts }),
}

func buckets(name string, at func(*record.Point) *record.Buckets) member[record.Point] {
	return member[record.Point]{
		name: name,
		append: func(b []byte, p *record.Point, c *clock, _ bool) []byte {
			if len(at(p).Counts) == 0 {
				return b
			}
			return appendObject(b, bucketMembers, at(p), c)
		},
		parse: func(p *record.Point, v *record.Value) error { return parseObject(bucketMembers, at(p), v) },
	}
}

var quantileMembers = []member[record.Quantile]{
	float("quantile", true, func(q *record.Quantile) *float64 { return &q.Quantile }),
	float("value", true, func(q *record.Quantile) *float64 { return &q.Value }),
}

// quantiles refuses a quantile without one of its members, which is not that of 0.
var quantiles = element[record.Quantile]{
	append: objects(quantileMembers).append,
	parse: func(v *record.Value) (record.Quantile, error) {
		for _, m := range quantileMembers {
			if _, ok := v.Lookup(m.name); !ok {
				return record.Quantile{}, fmt.Errorf("no %s", m.name)
			}
		}
		return objects(quantileMembers).parse(v)
	},
}

// nestedEvents are the members of an event of a span.
var nestedEvents = objects([]member[record.NestedEvent]{
	str("name", "", func(e *record.NestedEvent) *string { return &e.Name }),
	moment("timestamp", "", func(e *record.NestedEvent) *time.Time { return &e.Time }),
	number("dropped_attributes", "", func(e *record.NestedEvent) *uint32 { return &e.DroppedAttributes }),
	fields("fields", "", func(e *record.NestedEvent) *[]record.Field { return &e.Attributes }),
})

var nestedLinks = objects([]member[record.NestedLink]{
	id("trace_id", "", func(l *record.NestedLink) []byte { return l.TraceID[:] }),
	id("span_id", "", func(l *record.NestedLink) []byte { return l.SpanID[:] }),
	number("trace_flags", "", func(l *record.NestedLink) *uint8 { return &l.TraceFlags }),
	str("trace_state", "", func(l *record.NestedLink) *string { return &l.TraceState }),
	number("dropped_attributes", "", func(l *record.NestedLink) *uint32 { return &l.DroppedAttributes }),
	fields("fields", "", func(l *record.NestedLink) *[]record.Field { return &l.Attributes }),
})

// headerMembers are the members of the header of an EventHeader event.
var headerMembers = []member[record.Header]{
	str("name", "", func(h *record.Header) *string { return &h.Name }),
	number("id", "", func(h *record.Header) *uint16 { return &h.ID }),
	number("version", "", func(h *record.Header) *uint8 { return &h.Version }),
	number("tag", "", func(h *record.Header) *uint16 { return &h.Tag }),
	number("opcode", "", func(h *record.Header) *uint8 { return &h.Opcode }),
	number("level", "", func(h *record.Header) *uint8 { return &h.Level }),
	id("activity_id", "", func(h *record.Header) []byte { return h.ActivityID[:] }),
	id("related_activity_id", "", func(h *record.Header) []byte { return h.RelatedID[:] }),
}

func appendHeader(b []byte, ev *record.Record, c *clock, _ bool) []byte {
	if ev.Header == nil {
		return b
	}
	return appendObject(b, headerMembers, ev.Header, c)
}

// parseHeader reads the header. The rest of it is in the name of the tracepoint, an earlier member.
func parseHeader(ev *record.Record, v *record.Value) error {
	ev.Header = &record.Header{}
	if name, err := eventheader.ParseName(ev.Name); err == nil {
		ev.Header.Provider, ev.Header.Keyword = name.Provider, name.Keyword
	}
	return parseObject(headerMembers, ev.Header, v)
}

var addresses = element[uint64]{
	append: func(b []byte, e *uint64, _ *clock) []byte {
		return append(strconv.AppendUint(append(b, `"0x`...), *e, 16), '"')
	},
	parse: func(v *record.Value) (uint64, error) {
		digits, ok := strings.CutPrefix(v.Text(), "0x")
		address, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || !ok {
			return 0, fmt.Errorf("no address: %s", v)
		}
		return address, nil
	},
}
