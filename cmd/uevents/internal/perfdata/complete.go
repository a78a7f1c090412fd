package perfdata

import (
	"fmt"
	"io"
)

// file is a regular file.
type file interface {
	io.Writer
	io.WriterAt
	Truncate(size int64) error
}

// span is a part of the file.
type span struct{ start, end uint64 }

// Close writes what is buffered. Of a file, it makes what perf record writes to a file, which more of perf's tools read.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if len(w.early) > 0 { // there is no record whose clock could be meant: any clock suits
		at := uint64(w.early[0].at.UnixNano())
		w.setClock(at, at)
		if err := w.writeEarly(); err != nil {
			return err
		}
	}
	f, ok := w.to.(file)
	if !ok || len(w.ordered) == 0 {
		return w.Flush()
	}
	// After two ends of rounds, tools have all records: what follows are none, if the program is killed now.
	w.begin(typeFinishedRound, 0)()
	w.begin(typeFinishedRound, 0)()
	if err := w.Flush(); err != nil {
		return err
	}
	return w.complete(f)
}

// complete adds the sections, then the header that refers to them. It blanks the events between the records, which are in the
// sections.
func (w *Writer) complete(f file) error {
	data := span{w.described[0].end, w.offset}
	features := append([]feature{{featureTracingData, tracingData(w.ordered)}}, w.features...)
	// The table of features follows the data; their contents, the ids and finally the events follow the table.
	at := data.end + uint64(len(features))*sectionSize
	var flags [4]uint64
	for _, f := range features {
		flags[f.id/64] |= 1 << (f.id % 64)
		w.u64(at, uint64(len(f.content)))
		at += uint64(len(f.content))
	}
	for _, f := range features {
		w.buf = append(w.buf, f.content...)
	}
	ids := at
	for _, e := range w.ordered {
		w.u64(e.id)
	}
	attrs := ids + 8*uint64(len(w.ordered))
	for i, e := range w.ordered {
		w.attr(e)
		w.u64(ids+8*uint64(i), 8)
	}
	if err := w.write(w.buf); err != nil {
		return err
	}
	w.buf = append(w.buf[:0], magic...)
	w.u64(fileHeaderSize, attrSize+sectionSize)
	w.u64(attrs, uint64(len(w.ordered))*(attrSize+sectionSize))
	w.u64(data.start, data.end-data.start)
	w.u64(0, 0)
	w.u64(flags[:]...)
	at = 0
	for _, s := range w.described[1:] {
		if err := w.writeAt(f, at); err != nil {
			return err
		}
		at = s.start
		w.fill(int(s.end - s.start))
	}
	return w.writeAt(f, at)
}

// writeAt writes what is buffered.
func (w *Writer) writeAt(f file, at uint64) error {
	if _, err := f.WriteAt(w.buf, int64(at)); err != nil {
		return fmt.Errorf("completing perf.data: %w", err)
	}
	w.buf = w.buf[:0]
	return nil
}
