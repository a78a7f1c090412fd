package reader

import (
	"bytes"
	"slices"
	"strings"
)

// Clone returns a copy of the event that shares no memory with it but Process and Decoder, which never change. It stays valid
// where [DecodeOptions].Reuse limits how long ev does.
func (ev *Event) Clone() *Event {
	c := *ev
	c.scratch = nil
	c.Callchain, c.Raw = slices.Clone(ev.Callchain), bytes.Clone(ev.Raw)
	for _, s := range []*string{
		&c.System, &c.Name, &c.SeverityText, &c.Message, &c.EventName, &c.TraceState, &c.StatusMessage,
		&c.ServiceName, &c.ScopeName, &c.ScopeVersion, &c.ScopeSchemaURL, &c.FieldsJSON,
	} {
		*s = strings.Clone(*s)
	}
	c.Body = ev.Body.clone()
	c.Fields, c.Resource, c.ScopeAttributes = cloneFields(ev.Fields), cloneFields(ev.Resource), cloneFields(ev.ScopeAttributes)
	c.NestedEvents, c.NestedLinks = slices.Clone(ev.NestedEvents), slices.Clone(ev.NestedLinks)
	for i := range c.NestedEvents {
		e := &c.NestedEvents[i]
		e.Name, e.Attributes = strings.Clone(e.Name), cloneFields(e.Attributes)
	}
	for i := range c.NestedLinks {
		l := &c.NestedLinks[i]
		l.TraceState, l.Attributes = strings.Clone(l.TraceState), cloneFields(l.Attributes)
	}
	if ev.Point != nil {
		c.Point = ev.Point.clone()
	}
	if ev.Header != nil {
		c.Header = ev.Header.Clone()
	}
	return &c
}

func (p *Point) clone() *Point {
	c := *p
	c.Unit, c.Request = strings.Clone(p.Unit), bytes.Clone(p.Request)
	c.Value, c.Sum, c.Min, c.Max = p.Value.clone(), p.Sum.clone(), p.Min.clone(), p.Max.clone()
	c.Bounds, c.BucketCounts, c.Quantiles = slices.Clone(p.Bounds), slices.Clone(p.BucketCounts), slices.Clone(p.Quantiles)
	c.Positive.Counts, c.Negative.Counts = slices.Clone(p.Positive.Counts), slices.Clone(p.Negative.Counts)
	c.FilteredAttributes = cloneFields(p.FilteredAttributes)
	return &c
}

func (v Value) clone() Value {
	v.str, v.list = strings.Clone(v.str), cloneFields(v.list)
	return v
}

func cloneFields(fields []Field) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		f.Name, f.Value = strings.Clone(f.Name), f.Value.clone()
	}
	return fields
}
