// Package perfetto writes events in the format of Perfetto. https://ui.perfetto.dev draws them on one timeline with the
// scheduler's events: spans as nested slices, log records on the threads that wrote them, metrics as counters. Flows
// connect the events of a trace.
//
// The file is a Trace of Perfetto's protobuf schema. Times are in CLOCK_MONOTONIC; snapshots relate it to the other
// clocks.
package perfetto

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/userevents/userevents-go/internal/tool/spanqueue"
	"github.com/userevents/userevents-go/record"
)

// sequence is the number of the file's only sequence of packets.
const sequence = 1

// snapshotEvery is the interval between clock snapshots, in the time of the events: clocks drift, and one of them stops
// while a machine sleeps.
const snapshotEvery = 10 * time.Second

// Clocks are readings of clocks at one moment, in nanoseconds.
type Clocks struct {
	Monotonic, Boottime, Realtime uint64
}

// Writer writes events. It implements output.Writer, and is not safe for concurrent use. Its memory is bounded.
//
// It writes each event with one call of the destination's Write. After an error the last packet of the file may be
// incomplete; Perfetto ignores such a packet.
type Writer struct {
	w       io.Writer
	machine func() (Clocks, error) // may be nil
	m       message
	name    []byte // of a counter

	uuids        uint64 // base of the tracks' ids
	opened       uint64 // number of tracks that are neither processes nor threads
	begun        bool
	clocks       Clocks
	nextSnapshot uint64 // in CLOCK_MONOTONIC
	offset       int64  // CLOCK_REALTIME minus CLOCK_MONOTONIC, of the last event

	tracks  tracks
	nesting *nesting
	waiting *spanqueue.Queue[waiting]
	started *spanqueue.Queue[started]
	lost    map[string]uint64    // records so far, by event
	unsaid  map[string]time.Time // of lost: when records were lost before the clocks were known
}

// NewWriter returns a Writer of a new file. It reads the clocks of the recorded machine at intervals. With nil, CLOCK_BOOTTIME is assumed to
// equal CLOCK_MONOTONIC, which is true on a machine that never slept; the other clocks come from the events.
func NewWriter(w io.Writer, clocks func() (Clocks, error)) *Writer {
	p := &Writer{w: w, machine: clocks, lost: map[string]uint64{}, unsaid: map[string]time.Time{}}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	// Users may concatenate traces: ids of tracks should differ between files.
	p.uuids = binary.NativeEndian.Uint64(seed[:]) &^ (1<<40 - 1)
	p.tracks = tracks{map[int32]process{}, map[thread]uint64{}, map[counterKey]uint64{}}
	p.waiting = spanqueue.New(maxWaiting, maxWaitingBytes, p.giveUp)
	p.started = spanqueue.New(maxUnfinished, maxWaitingBytes, func(*spanqueue.Parts[started]) {}) // they are not drawn
	p.nesting = newNesting(p.openSpans)
	return p
}

// Write writes an event, after the losses that came before the first one. A span is written when it has ended, with its events and links, which come before it.
func (p *Writer) Write(ev *record.Record) error {
	if err := p.snapshot(ev); err != nil {
		return err
	}
	p.writeUnsaid()
	switch {
	case ev.Kind == record.KindSpan:
		p.writeSpan(ev)
	case ev.Kind == record.KindSpanEvent, ev.Kind == record.KindSpanLink:
		p.keep(ev)
	case ev.Kind == record.KindSpanStart:
		p.start(ev)
	case ev.Kind == record.KindMetric && p.writeCounter(ev):
	case IsSwitch(ev):
		p.writeSwitch(ev)
	default:
		p.writeInstant(ev)
	}
	return p.flush()
}

// Lost writes how many records of an event the kernel lost so far, as a counter. Before the first event it remembers them
// only: events say how the clocks differ.
func (p *Writer) Lost(name string, n uint64, at time.Time) error {
	p.lost[name] += n
	if !p.begun {
		p.unsaid[name] = at
		return nil
	}
	p.writeLost(name, at)
	return p.flush()
}

func (p *Writer) writeLost(name string, at time.Time) {
	track := p.counterTrack(counterKey{name: "lost records of " + name}, "", unitCount)
	p.event(p.monotonic(at), track, counter, func(m *message) { m.int(eventCounterInt, int64(p.lost[name])) })
}

// writeUnsaid writes the losses from before the clocks were known.
func (p *Writer) writeUnsaid() {
	for name, at := range p.unsaid {
		p.writeLost(name, at)
	}
	clear(p.unsaid)
}

// Close writes what waits for the ends of spans: spans that did not end are slices without an end.
func (p *Writer) Close() error {
	if !p.begun { // without events, still write a file that Perfetto opens
		if err := p.snapshot(&record.Record{}); err != nil {
			return err
		}
		p.writeUnsaid()
	}
	p.writeUnfinished()
	return p.flush()
}

func (p *Writer) flush() error {
	if len(p.m.data) == 0 {
		return nil
	}
	_, err := p.w.Write(p.m.data)
	p.m.data = p.m.data[:0]
	return err
}

// packet appends a packet with a time in CLOCK_MONOTONIC. data appends its contents.
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

// Ids of tracks. The id of a process or thread determines the id of its track; all others are counted.
func (p *Writer) processUUID(pid int32) uint64 { return p.uuids + uint64(uint32(pid)) }
func (p *Writer) threadUUID(tid int32) uint64  { return p.uuids + 1<<32 + uint64(uint32(tid)) }

func (p *Writer) newUUID() uint64 {
	p.opened++
	return p.uuids + 2<<32 + p.opened
}

// maxDelay is the largest accepted time between an event, by its program's clock, and its record. A program that writes
// much older events, or whose clock is wrong, would stretch the timeline by that time.
const maxDelay = uint64(10 * time.Minute)

// snapshot updates the clocks from an event. It writes their differences before the first event, and at intervals.
func (p *Writer) snapshot(ev *record.Record) error {
	if ev.Monotonic != 0 && !ev.Time.IsZero() {
		p.offset = ev.Time.UnixNano() - int64(ev.Monotonic)
	}
	if p.begun && ev.Monotonic < p.nextSnapshot {
		return nil
	}
	p.clocks = Clocks{ev.Monotonic, ev.Monotonic, uint64(max(int64(ev.Monotonic)+p.offset, 0))}
	if p.machine != nil {
		var err error
		if p.clocks, err = p.machine(); err != nil {
			return fmt.Errorf("perfetto: read clocks: %w", err)
		}
		if ev.Time.IsZero() { // there is no event
			p.offset = int64(p.clocks.Realtime - p.clocks.Monotonic)
		}
	}
	p.nextSnapshot = ev.Monotonic + uint64(snapshotEvery)
	begin := p.m.begin(tracePacket)
	p.m.uint(packetSequence, sequence)
	if !p.begun {
		p.m.uint(packetSequenceFlags, stateCleared)
	}
	at := p.m.begin(packetClockSnapshot)
	for _, c := range [...]struct{ id, at uint64 }{
		{clockMonotonic, p.clocks.Monotonic}, {clockBoottime, p.clocks.Boottime}, {clockRealtime, p.clocks.Realtime},
	} {
		clock := p.m.begin(snapshotClocks)
		p.m.uint(clockID, c.id)
		p.m.uint(clockTimestamp, c.at)
		p.m.end(clock)
	}
	p.m.uint(snapshotPrimaryClock, clockBoottime)
	p.m.end(at)
	p.m.end(begin)
	p.begun = true
	return nil
}

// monotonic converts a time of the machine's clock to CLOCK_MONOTONIC.
func (p *Writer) monotonic(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.UnixNano()-p.offset, 0))
}

// recorded returns the time at which the kernel recorded an event.
func (p *Writer) recorded(ev *record.Record) uint64 {
	if ev.Monotonic != 0 {
		return ev.Monotonic
	}
	return p.monotonic(ev.Time)
}

// happened returns the program's own time of an event if it is plausible: before the record, and at most maxDelay. An
// exporter writes records some time after their events.
func (p *Writer) happened(ev *record.Record, at time.Time) uint64 {
	return plausible(p.monotonic(at), p.recorded(ev))
}

func plausible(happened, recorded uint64) uint64 {
	if happened != 0 && happened <= recorded && recorded-happened <= maxDelay {
		return happened
	}
	return recorded
}
