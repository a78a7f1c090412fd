package perfdata

import (
	"fmt"
	"io"
)

// Close completes the file: it writes the events and formats that readers need.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if w.err != nil {
		return w.err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.finish(); err != nil {
		return w.rescue(err)
	}
	return nil
}

// finish writes all that follows the data, and the header.
func (w *Writer) finish() error {
	dataEnd := w.offset
	features := w.features()
	// The table of features follows the data; their contents, the ids and finally the events follow the table.
	at := dataEnd + uint64(len(features))*sectionSize
	var flags [4]uint64
	for _, f := range features {
		flags[f.bit/64] |= 1 << (f.bit % 64)
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
	if err := w.write(); err != nil {
		return err
	}
	w.buf = append(w.buf[:0], magic...)
	w.u64(fileHeaderSize, attrSize+sectionSize)
	w.u64(attrs, uint64(len(w.ordered))*(attrSize+sectionSize))
	w.u64(fileHeaderSize, dataEnd-fileHeaderSize)
	w.u64(0, 0)
	w.u64(flags[:]...)
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("writing the header of perf.data: %w", err)
	}
	return w.write()
}

// rescue finishes the file after an error, which it returns. What was written last is dropped as far as that makes room.
func (w *Writer) rescue(cause error) error {
	file, ok := w.file.(interface{ Truncate(size int64) error })
	newest := len(w.ends) - 1
	for i, most := newest, uint64(0); ok && i >= 0 && w.ends[newest]-w.ends[i] <= most; i-- {
		w.offset, w.buf = w.ends[i], w.buf[:0]
		if file.Truncate(int64(w.offset)) != nil {
			break
		}
		if _, err := w.file.Seek(int64(w.offset), io.SeekStart); err != nil {
			break
		}
		if w.finish() == nil {
			return cause
		}
		most = uint64(len(w.buf)) + 2*flushSize // what could not be written needs that
	}
	return fmt.Errorf("%w; %w", cause, ErrUnreadable)
}

// attr adds the struct perf_event_attr of an event.
func (w *Writer) attr(e *event) {
	flags := uint64(attrMmap | attrComm | attrTask | attrSampleIDAll | attrExcludeCallchainKernel | attrMmap2 | attrUseClockID)
	w.u32(typeTracepoint, attrSize)
	w.u64(uint64(e.number), 1, w.sampleType, 0, flags)
	w.u64(0, 0, 0, 0, 0) // wakeup_events and bp_type; config1, config2, branch_sample_type, sample_regs_user
	w.u32(0, clockMonotonic)
	w.u64(0, 0) // sample_regs_intr; aux_watermark, sample_max_stack
}
