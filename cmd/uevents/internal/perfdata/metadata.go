package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// section is a part of a file that perf record finished.
type section struct{ offset, size uint64 }

func sectionAt(b []byte) section { return section{order.Uint64(b), order.Uint64(b[8:])} }

type sectionFile interface {
	io.ReaderAt
	io.Seeker
}

// maxSection limits how much is read into memory at once.
const maxSection = 256 << 20

// openSections reads the sections of a file that describe its events, and sets the queue to its records.
func (r *Reader) openSections(in io.Reader) error {
	file, ok := in.(sectionFile)
	if !ok {
		return errors.New("a finished perf.data is read at several places, which a pipe does not permit: give the name of the file")
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return malformed("finding its end: %w", err)
	}
	header, err := read(file, section{0, fileHeaderSize})
	if err != nil {
		return err
	}
	attrs, data := sectionAt(header[24:]), sectionAt(header[40:])
	if data.size == 0 {
		return malformed("perf record did not end as it should")
	}
	if err := r.readFeatures(file, data.offset+data.size, header[72:]); err != nil {
		return err
	}
	if err := r.readAttrs(file, attrs, order.Uint64(header[16:]), uint64(size)); err != nil {
		return err
	}
	if len(r.unresolved) > 0 {
		return malformed("it has no format of tracepoint %d", slices.Min(slices.Collect(maps.Keys(r.unresolved))))
	}
	r.queue.next = data.offset
	r.queue.buf.Reset(io.NewSectionReader(file, int64(data.offset), int64(min(data.size, uint64(size)))))
	return nil
}

func read(file io.ReaderAt, s section) ([]byte, error) {
	if s.size > maxSection || s.offset > 1<<62 {
		return nil, malformed("a section of %d bytes at %d", s.size, s.offset)
	}
	// A damaged file may claim a larger size than it has: allocate memory only for the data that exists.
	b, err := io.ReadAll(io.NewSectionReader(file, int64(s.offset), int64(s.size)))
	if err == nil && uint64(len(b)) < s.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, malformed("reading %d bytes at %d: %w", s.size, s.offset, err)
	}
	return b, nil
}

// readFeatures reads the sections behind the data. bitmap tells which ones the file has.
func (r *Reader) readFeatures(file io.ReaderAt, at uint64, bitmap []byte) error {
	for bit := range uint64(256) {
		if order.Uint64(bitmap[bit/64*8:])&(1<<(bit%64)) == 0 {
			continue
		}
		entry, err := read(file, section{at, sectionSize})
		if err != nil {
			return err
		}
		at += sectionSize
		if bit != featureTracingData && bit != featureClockData {
			continue
		}
		b, err := read(file, sectionAt(entry))
		if err != nil {
			return err
		}
		if bit == featureTracingData {
			err = r.addFormats(b)
		}
		if err != nil {
			return err
		}
		r.addFeature(bit, b)
	}
	return nil
}

// readAttrs reads the events, each of a size, and the ids of their records.
func (r *Reader) readAttrs(file io.ReaderAt, s section, size, fileSize uint64) error {
	if size < leastAttr+sectionSize {
		return malformed("events of %d bytes", size)
	}
	b, err := read(file, s)
	if err != nil {
		return err
	}
	for ; uint64(len(b)) >= size; b = b[size:] {
		idsAt := sectionAt(b[size-sectionSize:])
		// Each event has ids of its own: those of all are not read more than once.
		if idsAt.size > fileSize {
			return malformed("its events have more ids than it has bytes")
		}
		fileSize -= idsAt.size
		ids, err := read(file, idsAt)
		if err != nil {
			return err
		}
		if err := r.addEvent(b[:size-sectionSize], ids); err != nil {
			return err
		}
	}
	if r.any == nil {
		return malformed("it has no events")
	}
	return nil
}

// leastAttr is the size of struct perf_event_attr in its first version.
const leastAttr = 64

// addEvent adds an event, struct perf_event_attr, and the ids of its records.
func (r *Reader) addEvent(attr, ids []byte) error {
	flags := order.Uint64(attr[40:])
	l := &layout{
		sampleType: order.Uint64(attr[24:]), sampleIDAll: flags&attrSampleIDAll != 0, number: order.Uint64(attr[8:]),
	}
	l.tracepoint = order.Uint32(attr) == typeTracepoint && l.sampleType&sampleRaw != 0
	if l.tracepoint && l.sampleType&sampleRead != 0 {
		return malformed("its records have counts of groups (record without -s and :S)")
	}
	if r.any == nil {
		r.any = l
		if flags&attrUseClockID != 0 && len(attr) >= clockIDAt+4 {
			r.recordClock = order.Uint32(attr[clockIDAt:])
		}
		r.setClock()
	} else if len(r.layouts) == 0 {
		return malformed("its records do not say which event they are of")
	}
	if !l.sameIDs(r.any) {
		return malformed("its events have records of different layouts")
	}
	for ; len(ids) >= 8; ids = ids[8:] {
		r.layouts[order.Uint64(ids)] = l
	}
	if !l.tracepoint {
		return nil
	}
	return r.resolve(l)
}

func (r *Reader) addFeature(id uint64, b []byte) {
	if id == featureClockData && len(b) >= 24 { // u32 version, clock; u64 time of day, time of the clock
		r.wallClock = order.Uint32(b[4:])
		r.wallOffset = int64(order.Uint64(b[8:]) - order.Uint64(b[16:]))
		r.setClock()
	}
}

// Clock is the clock of a file's records.
type Clock struct {
	Monotonic bool // it is CLOCK_MONOTONIC; else it orders the records, and Event.Monotonic is its time
	WallTime  bool // the file says what time of day it was; else Event.Time is as if the clock had started in 1970
}

// noClock is the number of a clock that the file does not say. That of records is then the kernel's own, near CLOCK_MONOTONIC.
const noClock = ^uint32(0)

// setClock sets the clock to that of the first event, if there is one. All events of a recording have the same.
func (r *Reader) setClock() {
	if r.any == nil {
		return
	}
	r.clock = Clock{Monotonic: r.recordClock == clockMonotonic, WallTime: r.wallClock != noClock && r.wallClock == r.recordClock}
	r.offset = 0 // or the file knows the time of day of another clock
	if r.clock.WallTime {
		r.offset = r.wallOffset
	}
}

// tracepointFormat is an event in the section of formats.
type tracepointFormat struct {
	system  string
	format  tracepoint.Format
	decoder *record.Decoder // nil until an event needs it
}

// addFormats adds formats of tracepoints, and resolves the events that waited for them.
func (r *Reader) addFormats(b []byte) error {
	formats, err := parseFormats(b)
	if err != nil {
		return err
	}
	maps.Copy(r.formats, formats)
	for number := range formats {
		waiting := r.unresolved[number]
		delete(r.unresolved, number)
		for _, l := range waiting {
			if err := r.resolve(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve sets the decoder of a tracepoint, once its format is known.
func (r *Reader) resolve(l *layout) error {
	f, ok := r.formats[l.number]
	if !ok {
		r.unresolved[l.number] = append(r.unresolved[l.number], l)
		return nil
	}
	if f.decoder == nil {
		var err error
		if f.decoder, err = record.NewDecoder(f.system, f.format); err != nil {
			return fmt.Errorf("%w: %w", errFormat, err)
		}
	}
	l.system, l.name, l.decoder = f.system, f.format.Name, f.decoder
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
