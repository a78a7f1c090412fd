package typedfield

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/userevents/userevents-go/tracepoint"
)

// Plan writes whole payloads from values of one struct type. Package typed has its documentation.
type Plan struct {
	layout *Layout
	copier copier

	// Room for n bytes is for the fast path if n-low, unsigned, is not above span. If there is
	// more to write than numbers and strings, none is.
	low  int
	span uint
}

// NewPlan returns the plan for an event called name with the fields of the struct type t.
func NewPlan(t reflect.Type, name string) (Plan, error) {
	b := builder{paths: map[string]string{}}
	l, err := b.build(t, name)
	if err != nil {
		return Plan{}, fmt.Errorf("struct event %q from %v: %w", name, t, err)
	}
	c := newCopier(b.fields)
	p := Plan{layout: l, copier: c, low: c.least(), span: uint(MaxLimit - c.least())}
	if !c.simple {
		p.low, p.span = math.MaxInt, 0
	}
	return p, nil
}

// Declaration returns the event's name and fields. Do not change the fields.
func (p *Plan) Declaration() tracepoint.Declaration { return p.layout.Declaration() }

// Append appends the payload for the struct that v points to.
func (p *Plan) Append(dst []byte, v Pointer, limit int) (out []byte, truncated int) {
	if room := min(limit, cap(dst)-len(dst)); uint(room-p.low) <= p.span {
		payload := behind(dst)
		end := p.copier.fast(payload, payload, v, uintptr(p.low), uintptr(room))
		if end > 0 {
			return dst[:len(dst)+end], 0
		}
		if room == limit {
			return p.general(dst, v, limit, 0)
		}
	}
	return p.general(dst, v, limit, -1)
}

// general appends any payload. End is negative, or 0 if fast has run for limit bytes and failed.
func (p *Plan) general(dst []byte, v pointer, limit, end int) (out []byte, truncated int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(max(limit, p.copier.least()), MaxLimit)
	start := len(dst)
	dst = slices.Grow(dst, limit)
	if end < 0 {
		payload := behind(dst)
		end = p.copier.fast(payload, payload, v, uintptr(p.copier.size), uintptr(limit-p.copier.ids))
	}
	var w writer // a composite literal would be copied
	w.b, w.start, w.at, w.end = dst[:cap(dst)], start, start, start+p.copier.size
	w.limit, w.share = start+limit, limit
	p.copier.write(&w, v, end)
	if at := p.copier.truncatedAt; at >= 0 {
		PutU32(w.b, start+at, uint32(w.truncated))
	}
	return w.b[:w.end], w.truncated
}
