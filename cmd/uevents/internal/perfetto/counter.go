package perfetto

import (
	"github.com/userevents/userevents-go/reader"
)

// writeCounter writes the value of a gauge or a sum on a track of its series. It returns false for points without a
// single number.
func (p *Writer) writeCounter(ev *reader.Event) bool {
	if ev.Point.Type != reader.PointGauge && ev.Point.Type != reader.PointSum {
		return false
	}
	name := append(p.name[:0], ev.Message...)
	if len(ev.Fields) > 0 {
		name = reader.AppendJSON(append(name, ' '), ev.Fields)
	}
	p.name = name
	track := p.counterTrack(counterKey{p.processTrack(ev), string(name)}, ev.Point.Unit, 0)
	p.writeCount(track, p.happened(ev, ev.Timestamp), func(m *message) { m.double(eventCounterDouble, ev.Point.Value.Float64()) })
	return true
}

// writeCount writes the value of a counter.
func (p *Writer) writeCount(track, at uint64, value func(m *message)) {
	p.event(at, track, counter, value)
}
