package perfetto

import (
	"fmt"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// maxDelay is how much earlier than its record an event may have happened by what its program says. A program that writes what
// happened long before, or whose clock is wrong, would make the timeline as long as that.
const maxDelay = uint64(10 * time.Minute)

// snapshot learns the clocks from an event, and writes how they differ, first of all and then now and again.
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

// monotonic returns the time of CLOCK_MONOTONIC for one of the machine's clock.
func (p *Writer) monotonic(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.UnixNano()-p.offset, 0))
}

// boottime returns the time of CLOCK_BOOTTIME for one of CLOCK_MONOTONIC.
func (p *Writer) boottime(monotonic uint64) uint64 {
	return monotonic + p.clocks.Boottime - p.clocks.Monotonic
}

// recorded returns when the kernel took the record of an event.
func (p *Writer) recorded(ev *reader.Event) uint64 {
	if ev.Monotonic != 0 {
		return ev.Monotonic
	}
	return p.monotonic(ev.Time)
}

// happened returns the time that a program gave an event, if it can be: it is before the record, and not too long. An
// exporter writes records of what happened before.
func (p *Writer) happened(ev *reader.Event, at time.Time) uint64 {
	return plausible(p.monotonic(at), p.recorded(ev))
}

func plausible(happened, recorded uint64) uint64 {
	if happened != 0 && happened <= recorded && recorded-happened <= maxDelay {
		return happened
	}
	return recorded
}
