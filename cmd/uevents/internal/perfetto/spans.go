package perfetto

import (
	"encoding/hex"

	"github.com/userevents/userevents-go/internal/tool/spanqueue"
	"github.com/userevents/userevents-go/record"
)

// Limits of the data that waits for spans to end.
const (
	maxWaiting      = 10_000  // spans
	maxWaitingBytes = 8 << 20 // of their events and links, and of started spans
	maxUnfinished   = 10_000  // started spans
)

// waiting holds the encoded events and links of a span that has not ended.
type waiting struct {
	events []instantOf
	links  message // annotations and flows of the span's slice
	thread uint64  // track of the thread that wrote the first one
}

// instantOf is an event of a span: its track event without type and track.
type instantOf struct {
	at, recorded uint64
	rest         []byte
}

// started is a started span that has not ended: its slice without type and track.
type started struct {
	at   uint64
	rest []byte
}

// writeSpan writes a span as a slice. Both its beginning and its end come from its record, so they stay in order even
// if the program's clock changes.
func (p *Writer) writeSpan(ev *record.Record) {
	key := spanqueue.KeyOf(ev)
	p.started.Take(key)
	var parts waiting
	if w := p.waiting.Take(key); w != nil {
		parts = w.Value
	}

	end := p.recorded(ev)
	if !ev.Timestamp.IsZero() {
		end = p.happened(ev, ev.Timestamp.Add(ev.Duration))
	}
	begin := end - min(end, uint64(max(ev.Duration, 0)))
	p.processTrack(ev)
	parent := ev.ParentSpanID
	if ev.ParentRemote { // no span of this process can enclose it
		parent = spanID{}
	}
	track := p.nesting.place(traceKey{ev.PID, ev.TraceID}, ev.SpanID, parent, begin, end)
	p.event(begin, track, sliceBegin, func(m *message) {
		p.describeSpan(m, ev)
		m.raw(parts.links.data)
		for i := range ev.NestedLinks {
			l := &ev.NestedLinks[i]
			p.describeLink(m, l.TraceID, l.SpanID, l.Attributes)
		}
	})
	for _, e := range parts.events {
		p.event(min(max(e.at, begin), end), track, instant, func(m *message) { m.raw(e.rest) })
	}
	for i := range ev.NestedEvents {
		e := &ev.NestedEvents[i]
		p.event(min(max(p.monotonic(e.Time), begin), end), track, instant, func(m *message) {
			m.string(eventName, e.Name)
			for _, f := range e.Attributes {
				annotate(m, f.Name, f.Value)
			}
		})
	}
	p.event(end, track, sliceEnd, nil)
}

func (p *Writer) describeSpan(m *message, ev *record.Record) {
	p.describeEvent(m, ev)
	annotateIDs(m, ev)
	if ev.SpanKind != record.SpanKindUnspecified {
		annotate(m, "span_kind", record.StringValue(ev.SpanKind.String()))
	}
	if ev.Status != record.StatusUnset {
		annotate(m, "status", record.StringValue(ev.Status.String()))
	}
	if ev.StatusMessage != "" {
		annotate(m, "status_message", record.StringValue(ev.StatusMessage))
	}
}

// describeLink appends a link of a slice: its attributes, and the flow of the linked trace.
func (p *Writer) describeLink(m *message, trace traceID, span spanID, attributes []record.Field) {
	m.fixed64(eventFlows, flowOf(trace))
	link := []record.Field{
		{Name: "trace_id", Value: record.StringValue(hex.EncodeToString(trace[:]))},
		{Name: "span_id", Value: record.StringValue(hex.EncodeToString(span[:]))},
	}
	annotate(m, "link", record.MapValue(append(link, attributes...)))
}

// keep keeps an event or a link of a span until the span has ended.
func (p *Writer) keep(ev *record.Record) {
	key := spanqueue.KeyOf(ev)
	parts := p.waiting.Get(key)
	if parts == nil {
		parts = p.waiting.Add(key, waiting{thread: p.threadTrack(ev)}, 0)
	}
	w := &parts.Value
	before := len(w.links.data)
	if ev.Kind == record.KindSpanLink {
		p.describeLink(&w.links, ev.LinkedTraceID, ev.LinkedSpanID, ev.Fields())
	} else {
		var rest message
		p.describeEvent(&rest, ev)
		annotateIDs(&rest, ev)
		w.events = append(w.events, instantOf{p.monotonic(ev.Timestamp), p.recorded(ev), rest.data})
		before -= len(rest.data)
	}
	p.waiting.Grow(parts, len(w.links.data)-before)
}

// giveUp writes the events of a missing span on the thread that wrote them. It drops links, which need a slice.
func (p *Writer) giveUp(parts *spanqueue.Parts[waiting]) {
	for _, e := range parts.Value.events {
		p.event(plausible(e.at, e.recorded), parts.Value.thread, instant, func(m *message) { m.raw(e.rest) })
	}
}

// start keeps a started span, in case it does not end before the file does.
func (p *Writer) start(ev *record.Record) {
	var rest message
	p.describeSpan(&rest, ev)
	key := spanqueue.KeyOf(ev)
	p.started.Take(key)
	p.processTrack(ev)
	p.started.Grow(p.started.Add(key, started{p.happened(ev, ev.Timestamp), rest.data}, 0), len(rest.data))
}

// writeUnfinished writes the spans that did not end, each on its own track: a slice without an end encloses all later
// ones.
func (p *Writer) writeUnfinished() {
	for p.waiting.Evict() {
	}
	for s := p.started.Next(); s != nil; s = p.started.Next() {
		p.started.Take(s.Key)
		p.event(s.Value.at, p.openSpans(s.Key.PID), sliceBegin, func(m *message) { m.raw(s.Value.rest) })
	}
}

// Perfetto nests the slices of a track by time: the end of a slice closes the slice that began last. Slices that
// overlap therefore need separate tracks, and a slice must enclose only its own children. Perfetto draws tracks of one
// process with the same name as one group, with one line for each overlap.
//
// A span is complete when it ends, so children come before their parents. Each trace has its own tracks in each
// process. A span goes to a track on which all slices that overlap with it are its children and within it.

type (
	traceID = [16]byte
	spanID  = [8]byte
)

// Limits of the memory. Beyond them, spans that could share a track get their own.
const (
	maxTraces         = 16384 // in each of two generations
	maxTracksOfTrace  = 32
	maxSlicesOfTracks = 256
	maxSlices         = 1 << 18 // of all tracks in a generation
)

// traceKey identifies a trace in a process, which has its own tracks.
type traceKey struct {
	pid int32
	id  traceID
}

// placed is an outermost slice on a track.
type placed struct {
	begin, end uint64
	parent     spanID
}

type sliceTrack struct {
	uuid   uint64
	slices []placed
}

// noSpan is the parent of slices that no span may enclose.
var noSpan = spanID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

type nesting struct {
	recent, old map[traceKey][]*sliceTrack
	slices      int                           // on tracks of recent traces
	open        func(pid int32) (uuid uint64) // creates a track
}

func newNesting(open func(pid int32) uint64) *nesting {
	return &nesting{recent: map[traceKey][]*sliceTrack{}, open: open}
}

// place returns the track for a span. The times are in nanoseconds of one clock, and begin <= end.
func (n *nesting) place(key traceKey, id, parent spanID, begin, end uint64) (uuid uint64) {
	tracks := n.tracks(key)
	best := (*sliceTrack)(nil)
	held := -1
	for _, t := range tracks {
		if h := t.fits(id, begin, end); h > held {
			best, held = t, h
		}
	}
	if best == nil {
		best = &sliceTrack{uuid: n.open(key.pid)}
		if len(tracks) == maxTracksOfTrace {
			n.slices -= len(tracks[0].slices)
			tracks = append(tracks[:0], tracks[1:]...)
		}
		tracks = append(tracks, best)
		n.recent[key] = tracks
		held = 0
	}
	n.slices -= len(best.slices)
	best.add(placed{begin, end, parent}, held)
	n.slices += len(best.slices)
	for _, t := range tracks {
		t.adopt(id, parent)
	}
	return best.uuid
}

// tracks returns the tracks of a trace. It forgets a trace after maxTraces other traces, or maxSlices of their slices,
// without a span of it.
func (n *nesting) tracks(key traceKey) []*sliceTrack {
	list, ok := n.recent[key]
	if ok && n.slices < maxSlices {
		return list
	}
	if !ok {
		list = n.old[key]
	}
	if len(n.recent) >= maxTraces || n.slices >= maxSlices {
		n.recent, n.old, n.slices = map[traceKey][]*sliceTrack{}, n.recent, 0
	}
	n.recent[key] = list
	for _, t := range list {
		n.slices += len(t.slices)
	}
	return list
}

// fits returns how many of the last slices of the track a span encloses, or -1 if it does not fit the track. Slices may
// have the same end, since the end of a child is written before that of its parent, but not the same beginning.
func (t *sliceTrack) fits(id spanID, begin, end uint64) (held int) {
	for i := len(t.slices) - 1; i >= 0; i-- {
		s := &t.slices[i]
		if s.end <= begin {
			break
		}
		if s.begin <= begin || s.end > end || s.parent != id {
			return -1
		}
		held++
	}
	return held
}

// add replaces the last slices of the track by a slice that encloses them.
func (t *sliceTrack) add(s placed, held int) {
	t.slices = append(t.slices[:len(t.slices)-held], s)
	if len(t.slices) > maxSlicesOfTracks { // merges the first two, and the time between them
		if t.slices[1].parent != t.slices[0].parent {
			t.slices[1].parent = noSpan
		}
		t.slices[1].begin = t.slices[0].begin
		t.slices = append(t.slices[:0], t.slices[1:]...)
	}
}

// adopt assigns children of a span that are not below it on the track to its parent, which can enclose them.
func (t *sliceTrack) adopt(id, parent spanID) {
	for i := range t.slices {
		if t.slices[i].parent == id {
			t.slices[i].parent = parent
		}
	}
}
