package perfetto

import (
	"fmt"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// maxDelay is the largest accepted time between an event, by its program's clock, and its record. A program that writes
// much older events, or whose clock is wrong, would stretch the timeline by that time.
const maxDelay = uint64(10 * time.Minute)

// snapshot updates the clocks from an event. It writes their differences before the first event, and at intervals.
func (p *Writer) snapshot(ev *reader.Event) error {
	if ev.Monotonic != 0 && !ev.Time.IsZero() {
		p.offset = ev.Time.UnixNano() - int64(ev.Monotonic)
	}
	if p.begun && ev.Monotonic < p.nextSnapshot {
		return nil
	}
	p.clocks = Clocks{ev.Monotonic, ev.Monotonic, uint64(max(int64(ev.Monotonic)+p.offset, 0))}
	if p.o.Clocks != nil {
		var err error
		if p.clocks, err = p.o.Clocks(); err != nil {
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

// boottime converts a time of CLOCK_MONOTONIC to CLOCK_BOOTTIME.
func (p *Writer) boottime(monotonic uint64) uint64 {
	return monotonic + p.clocks.Boottime - p.clocks.Monotonic
}

// recorded returns the time at which the kernel recorded an event.
func (p *Writer) recorded(ev *reader.Event) uint64 {
	if ev.Monotonic != 0 {
		return ev.Monotonic
	}
	return p.monotonic(ev.Time)
}

// happened returns the program's own time of an event if it is plausible: before the record, and at most maxDelay. An
// exporter writes records some time after their events.
func (p *Writer) happened(ev *reader.Event, at time.Time) uint64 {
	return plausible(p.monotonic(at), p.recorded(ev))
}

func plausible(happened, recorded uint64) uint64 {
	if happened != 0 && happened <= recorded && recorded-happened <= maxDelay {
		return happened
	}
	return recorded
}
