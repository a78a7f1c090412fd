package typed

import (
	"math"
	"slices"
)

// plan is what a [Plan] consists of, whatever its type parameter.
type plan struct {
	layout *Layout
	copier copier

	// A limit l is for the fast path if l-low, unsigned, is not above span. If there is
	// more to write than numbers and strings, no limit is.
	low  int
	span uint
}

func newPlan(l *Layout, c copier) plan {
	p := plan{layout: l, copier: c, low: c.least(), span: uint(MaxLimit - c.least())}
	if !c.simple {
		p.low, p.span = math.MaxInt, 0
	}
	return p
}

// append is [Plan.Append].
func (p *plan) append(dst []byte, v pointer, limit int) (out []byte, cut int) {
	end := -1
	if uint(limit-p.low) <= p.span && limit <= cap(dst)-len(dst) {
		payload := behind(dst)
		if end = p.copier.fast(payload, payload, v, uintptr(p.low), uintptr(limit)); end > 0 {
			return dst[:len(dst)+end], 0
		}
	}
	return p.general(dst, v, limit, end)
}

// general appends any payload. End is what fast returned, or negative if it has not run.
func (p *plan) general(dst []byte, v pointer, limit, end int) (out []byte, cut int) {
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
	w.limit, w.whole, w.share = start+limit, limit, limit
	p.copier.write(&w, v, end)
	if at := p.copier.cutAt; at >= 0 {
		PutU32(w.b, start+at, uint32(w.cut))
	}
	return w.b[:w.end], w.cut
}
