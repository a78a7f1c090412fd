package perfdata

import (
	"errors"
	"io"
	"maps"
	"slices"
)

// section is a part of a file that a Writer or perf record finished.
type section struct{ offset, size uint64 }

func sectionAt(b []byte) section { return section{order.Uint64(b), order.Uint64(b[8:])} }

// sectionFile is a file with sections.
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

// read reads a section.
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
