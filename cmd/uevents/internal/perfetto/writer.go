// Package perfetto writes events in the format of Perfetto, which https://ui.perfetto.dev draws on one timeline with the
// scheduler's: spans as slices that nest, log records on the threads that wrote them, metrics as counters, all of one
// trace id connected.
//
// The file is a Trace of Perfetto's protobuf schema. Times are those of CLOCK_MONOTONIC, with snapshots of the other clocks beside it.
package perfetto

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// sequence is the number of the one sequence of packets that a file has.
const sequence = 1

// snapshotEvery is how often, in the time of the events, clocks are compared: they drift, and a machine that sleeps stops one of them.
const snapshotEvery = 10 * time.Second

// Clocks are readings of clocks at one moment, in nanoseconds.
type Clocks struct {
	Monotonic, Boottime, Realtime uint64
}

// Options are choices of a Writer. The zero value has the default of each.
type Options struct {
	// Clocks reads the clocks of the machine that the events are of. It is asked now and then while events are written. nil
	// means that their times are all that is known: CLOCK_BOOTTIME is then taken for CLOCK_MONOTONIC, which it is on a machine
	// that never slept.
	Clocks func() (Clocks, error)
}

// Writer writes events. It implements output.Writer of package output, and so is not safe for concurrent use. Its memory is bounded.
//
// It writes each event by one call of the destination's Write. After an error the file ends with a packet that may
// be incomplete, which Perfetto ignores.
type Writer struct {
	w    io.Writer
	o    Options
	m    message
	name []byte // of a counter

	uuids        uint64 // the first id of a track
	opened       uint64 // tracks that are neither processes nor threads
	begun        bool
	clocks       Clocks
	nextSnapshot uint64 // in CLOCK_MONOTONIC
	offset       int64  // CLOCK_REALTIME less CLOCK_MONOTONIC, of the last event

	tracks  tracks
	nesting *nesting
	spans   spans
	lost    map[string]uint64
}

// NewWriter returns a Writer of a new file.
func NewWriter(w io.Writer, o *Options) *Writer {
	p := &Writer{w: w, lost: map[string]uint64{}}
	if o != nil {
		p.o = *o
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	// Traces can be put together by concatenation: ids of tracks should differ from those in other files.
	p.uuids = binary.NativeEndian.Uint64(seed[:]) &^ (1<<40 - 1)
	p.tracks.reset()
	p.spans.reset()
	p.nesting = newNesting(p.openSpans)
	return p
}

// Write writes an event. A span is written when it has ended, with its events and links, which come before it.
func (p *Writer) Write(ev *reader.Event) error {
	if err := p.snapshot(ev); err != nil {
		return err
	}
	switch {
	case ev.Kind == reader.Span:
		p.writeSpan(ev)
	case ev.Kind == reader.SpanEvent, ev.Kind == reader.SpanLink:
		p.keep(ev)
	case ev.Kind == reader.SpanStart:
		p.start(ev)
	case ev.Kind == reader.Metric && p.writeCounter(ev):
	case ev.System == "sched" && ev.Name == "sched_switch":
		p.writeSwitch(ev)
	default:
		p.writeInstant(ev)
	}
	return p.flush()
}

// Lost writes how many records of an event the kernel lost so far, as a counter.
func (p *Writer) Lost(name string, n uint64, at time.Time) error {
	if err := p.snapshot(&reader.Event{Time: at, Monotonic: p.monotonic(at)}); err != nil {
		return err
	}
	track := p.counterTrack(counterKey{name: "lost records of " + name}, "", unitCount)
	p.lost[name] += n
	p.writeCount(track, p.monotonic(at), func(m *message) { m.int(eventCounterInt, int64(p.lost[name])) })
	return p.flush()
}

// Close writes what waits for the ends of spans: spans that did not end are slices without an end.
func (p *Writer) Close() error {
	if !p.begun { // no event: a file that Perfetto opens all the same
		if err := p.snapshot(&reader.Event{}); err != nil {
			return err
		}
	}
	p.writeUnfinished()
	return p.flush()
}

// flush writes what has been encoded.
func (p *Writer) flush() error {
	if len(p.m.data) == 0 {
		return nil
	}
	_, err := p.w.Write(p.m.data)
	p.m.reset()
	return err
}

// packet appends a packet with a time in CLOCK_MONOTONIC, whose data the function appends.
func (p *Writer) packet(at uint64, data func(m *message)) {
	begin := p.m.begin(tracePacket)
	p.m.uint(packetTimestamp, at)
	p.m.uint(packetTimestampClock, clockMonotonic)
	p.m.uint(packetSequence, sequence)
	data(&p.m)
	p.m.end(begin)
}

// event appends a packet with a track event.
func (p *Writer) event(at, track uint64, kind uint64, rest func(m *message)) {
	p.packet(at, func(m *message) {
		begin := m.begin(packetTrackEvent)
		m.uint(eventType, kind)
		m.uint(eventTrack, track)
		if rest != nil {
			rest(m)
		}
		m.end(begin)
	})
}

// Ids of tracks: those of processes and threads follow from their numbers, all others are counted.
func (p *Writer) processUUID(pid int32) uint64 { return p.uuids + uint64(uint32(pid)) }
func (p *Writer) threadUUID(tid int32) uint64  { return p.uuids + 1<<32 + uint64(uint32(tid)) }

func (p *Writer) newUUID() uint64 {
	p.opened++
	return p.uuids + 2<<32 + p.opened
}
