package perfdata

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// errFormat reports a file that is not a recording, is damaged, or has parts that this package does not read. Errors
// wrap it.
var errFormat = errors.New("no perf.data file that can be read")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errFormat, fmt.Errorf(format, args...))
}

// Reader reads a recording of tracepoints from a Writer or from perf record. It must not be used concurrently.
type Reader struct {
	// Lost is called when Next reads how many records of an event, named SYSTEM:NAME, were lost until a time. The name is
	// empty if the file does not say it. nil ignores them. Next returns its error.
	Lost func(name string, n uint64, at time.Time) error

	file    io.ReaderAt
	symbols *symbols.Table // gets the mappings; may be nil

	layouts map[uint64]*layout // by id of the records; 0 if the file has no ids
	any     *layout            // of the first event, for records without an id
	formats map[uint64]*tracepointFormat
	chain   []uint64
	copies  reader.Copies
	clock   Clock
	offset  int64 // wall clock minus the records' clock
	queue   queue

	wallClock uint32 // number of the clock that the file knows the time of day of

	processes map[int32]*reader.Process
	skipped   uint64
	losses    losses
}

// layout is the layout of an event's records, and their decoder.
type layout struct {
	sampleType  uint64
	sampleIDAll bool
	system      string
	name        string
	decoder     *reader.Decoder // nil for events that are not tracepoints
}

// section is a part of the file.
type section struct{ offset, size uint64 }

// maxSection limits how much is read into memory at once.
const maxSection = 256 << 20

// Open reads the events of a file with the given size. While Next reads, it adds the mappings of processes to the table
// of symbols, which may be nil. The file must stay open while the Reader is in use.
func Open(file io.ReaderAt, size int64, table *symbols.Table) (*Reader, error) {
	r := &Reader{file: file, symbols: table, layouts: map[uint64]*layout{}, processes: map[int32]*reader.Process{}}
	b := make([]byte, fileHeaderSize)
	if _, err := file.ReadAt(b, 0); err != nil {
		return nil, malformed("reading the header: %w", err)
	}
	switch {
	case string(b[:MagicSize]) == otherMagic:
		return nil, malformed("it comes from a machine with another byte order")
	case string(b[:MagicSize]) != magic:
		return nil, malformed("it does not begin with %s", magic)
	case order.Uint64(b[8:]) == 16:
		return nil, malformed("it was written to a pipe (convert it: perf inject -i FILE -o OTHER)")
	case order.Uint64(b[8:]) == 0: // of a Writer that was not closed
		return nil, malformed(notEnded)
	case order.Uint64(b[8:]) != fileHeaderSize:
		return nil, malformed("a header of %d bytes", order.Uint64(b[8:]))
	}
	attrs, data := sectionAt(b[24:]), sectionAt(b[40:])
	noEvents := data.size == 0 && attrs.size == 0
	if noEvents && attrs.offset == 0 {
		return nil, malformed(notEnded)
	}
	if err := r.readFeatures(data.offset+data.size, b[72:]); err != nil {
		return nil, err
	}
	if noEvents { // a Writer's that has got none
		r.clock.Monotonic, r.queue.ended = true, true
		return r, nil
	}
	if err := r.readAttrs(attrs, order.Uint64(b[16:]), uint64(max(size, 0))); err != nil {
		return nil, err
	}
	r.queue = queue{source: io.NewSectionReader(file, int64(data.offset), int64(min(data.size, uint64(max(size, 0))))), at: data.offset, limit: maxWaiting}
	return r, nil
}

const notEnded = "the program that recorded it did not end as it should"

func sectionAt(b []byte) section { return section{order.Uint64(b), order.Uint64(b[8:])} }

// read reads a section.
func (r *Reader) read(s section) ([]byte, error) {
	if s.size > maxSection || s.offset > 1<<62 {
		return nil, malformed("a section of %d bytes at %d", s.size, s.offset)
	}
	// A damaged file may claim a larger size than it has: allocate memory only for the data that exists.
	b, err := io.ReadAll(io.NewSectionReader(r.file, int64(s.offset), int64(s.size)))
	if err == nil && uint64(len(b)) < s.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, malformed("reading %d bytes at %d: %w", s.size, s.offset, err)
	}
	return b, nil
}

// Next decodes the next record of a tracepoint into ev, in order of time. It omits the copies of declared log records.
// It returns [io.EOF] at the end. After an error that wraps [reader.ErrMalformed], it continues with the next record; one
// that does not fit the format of its event is no error, but is marked as undecodable.
// Memory that ev refers to is valid until the next call.
func (r *Reader) Next(ev *reader.Event) error {
	for {
		rec, err := r.queue.next(r)
		if errors.Is(err, io.EOF) {
			return cmp.Or(r.lostSamples(), err)
		}
		if err != nil {
			return err
		}
		switch rec.kind() {
		case typeSample:
		case typeLost, typeLostSamples:
			if err := r.lost(rec); err != nil {
				return err
			}
			continue
		default:
			r.task(rec)
			continue
		}
		l := r.layoutOf(rec)
		if l == nil || l.decoder == nil {
			r.skipped++
			continue
		}
		s, ok := l.parse(rec, r.chain)
		r.chain = s.callchain
		if !ok {
			return fmt.Errorf("%w: %s:%s at time %d", reader.ErrMalformed, l.system, l.name, rec.time)
		}
		ev.Monotonic, ev.Time = s.time, time.Unix(0, int64(s.time)+r.offset)
		ev.PID, ev.TID, ev.CPU, ev.CgroupID = s.pid, s.tid, s.cpu, s.cgroup
		ev.Callchain, ev.Raw, ev.Process = s.callchain, s.raw, r.process(s.pid)
		ev.Undecodable = l.decoder.Decode(s.raw, ev, &reader.DecodeOptions{Reuse: true}) != nil
		if r.copies.IsCopy(ev) {
			continue
		}
		return nil
	}
}

// Clock returns the clock of the records.
func (r *Reader) Clock() Clock { return r.clock }

// Skipped returns how many records were skipped because their events are not tracepoints.
func (r *Reader) Skipped() uint64 { return r.skipped }

// layoutOf returns the layout of a record, nil if it is of no event of the file.
func (r *Reader) layoutOf(rec record) *layout {
	if len(r.layouts) == 0 {
		return r.any
	}
	return r.layouts[r.any.id(rec)]
}

// timeOf returns the time of a record, or 0 if it has none.
func (r *Reader) timeOf(rec record) uint64 {
	l := r.layoutOf(rec)
	if l == nil {
		l = r.any
	}
	return l.common(rec, sampleTime)
}
