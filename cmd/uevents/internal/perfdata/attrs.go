package perfdata

import (
	"bytes"
	"fmt"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// tracepointFormat is an event in the section of formats.
type tracepointFormat struct {
	system  string
	format  tracepoint.Format
	decoder *reader.Decoder // nil until an event needs it
}

// readAttrs reads the events of a file, each of a size, and the ids of their records. Formats must be known.
func (r *Reader) readAttrs(s section, size, fileSize uint64) error {
	if size < 64+sectionSize {
		return malformed("events of %d bytes", size)
	}
	b, err := r.read(s)
	if err != nil {
		return err
	}
	for ; uint64(len(b)) >= size; b = b[size:] {
		attr := b[:size]
		flags := order.Uint64(attr[40:])
		l := &layout{
			sampleType: order.Uint64(attr[24:]), sampleIDAll: flags&attrSampleIDAll != 0,
		}
		if order.Uint32(attr) == typeTracepoint && l.sampleType&sampleRaw != 0 {
			if l.sampleType&sampleRead != 0 {
				return malformed("its records have counts of groups (record without -s and :S)")
			}
			if err := r.findDecoder(l, order.Uint64(attr[8:])); err != nil {
				return err
			}
		}
		if r.any == nil {
			r.any = l
			r.setClock(attr[:size-sectionSize])
		}
		if !l.sameIDs(r.any) {
			return malformed("its events have records of different layouts")
		}
		idsAt := sectionAt(attr[size-sectionSize:])
		// Each event has ids of its own: those of all are not read more than once.
		if idsAt.size > fileSize {
			return malformed("its events have more ids than it has bytes")
		}
		fileSize -= idsAt.size
		ids, err := r.read(idsAt)
		if err != nil {
			return err
		}
		for ; len(ids) >= 8; ids = ids[8:] {
			r.layouts[order.Uint64(ids)] = l
		}
		if len(r.layouts) == 0 && uint64(len(b)) >= 2*size {
			return malformed("its records do not say which event they are of")
		}
	}
	if r.any == nil {
		return malformed("it has no events")
	}
	r.formats = nil
	return nil
}

// Clock is the clock of a file's records.
type Clock struct {
	Monotonic bool // it is CLOCK_MONOTONIC; else it orders the records, and Event.Monotonic is its time
	WallTime  bool // the file says what time of day it was; else Event.Time is as if the clock had started in 1970
}

// setClock sets the clock to that of an event. All events of a recording have the same.
func (r *Reader) setClock(attr []byte) {
	const own = ^uint32(0) // the kernel's, which is near CLOCK_MONOTONIC
	clock := own
	if order.Uint64(attr[40:])&attrUseClockID != 0 && len(attr) >= clockIDAt+4 {
		clock = order.Uint32(attr[clockIDAt:])
	}
	r.clock.Monotonic = clock == clockMonotonic
	if r.clock.WallTime && r.wallClock != clock {
		r.clock.WallTime, r.offset = false, 0 // it is the time of day of another clock
	}
}

// findDecoder sets a layout's decoder to that of a tracepoint.
func (r *Reader) findDecoder(l *layout, number uint64) error {
	f, ok := r.formats[number]
	if !ok {
		return malformed("it has no format of tracepoint %d", number)
	}
	if f.decoder == nil {
		var err error
		if f.decoder, err = reader.NewDecoder(f.system, f.format); err != nil {
			return fmt.Errorf("%w: %w", errFormat, err)
		}
	}
	l.system, l.name, l.decoder = f.system, f.format.Name, f.decoder
	return nil
}

// readFeatures reads the necessary sections behind the data. bitmap tells which ones the file has.
func (r *Reader) readFeatures(at uint64, bitmap []byte) error {
	for bit := range 256 {
		if order.Uint64(bitmap[bit/64*8:])&(1<<(bit%64)) == 0 {
			continue
		}
		entry, err := r.read(section{at, sectionSize})
		if err != nil {
			return err
		}
		at += sectionSize
		if bit != featureTracingData && bit != featureClockData {
			continue
		}
		b, err := r.read(sectionAt(entry))
		if err != nil {
			return err
		}
		if bit == featureTracingData {
			if r.formats, err = parseFormats(b); err != nil {
				return err
			}
		} else if len(b) >= 24 {
			r.clock.WallTime, r.wallClock = true, order.Uint32(b[4:])
			r.offset = int64(order.Uint64(b[8:]) - order.Uint64(b[16:]))
		}
	}
	return nil
}

// cursor reads a section from its start. Beyond the end, all values are 0.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return order.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return order.Uint64(b)
	}
	return 0
}

func (c *cursor) text() string {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		c.bad, c.b = true, nil
		return ""
	}
	s := string(c.b[:i])
	c.b = c.b[i+1:]
	return s
}

// parseFormats parses the section of formats, by number of the tracepoint.
func parseFormats(b []byte) (map[uint64]*tracepointFormat, error) {
	c := &cursor{b: b}
	start := c.take(10)
	if string(start) != "\x17\x08\x44tracing" {
		return nil, malformed("its formats do not begin with their mark")
	}
	c.text()  // version
	c.take(6) // byte order, size of long and of pages
	for range 2 {
		c.text() // header_page, header_event
		c.take(c.u64())
	}
	for n := c.u32(); n > 0 && !c.bad; n-- {
		c.take(c.u64())
	}
	formats := map[uint64]*tracepointFormat{}
	for systems := c.u32(); systems > 0 && !c.bad; systems-- {
		system := c.text()
		for events := c.u32(); events > 0 && !c.bad; events-- {
			text := string(c.take(c.u64()))
			if c.bad {
				break
			}
			f, err := tracepoint.ParseFormat(text)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errFormat, err)
			}
			formats[uint64(f.ID)] = &tracepointFormat{system: system, format: f}
		}
	}
	if c.bad {
		return nil, malformed("its formats are cut")
	}
	return formats, nil
}
