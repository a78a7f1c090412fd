package perfdata

import (
	"fmt"
	"math/bits"
	"os"
)

// feature is what the file says about the machine or the recording.
type feature struct {
	id      uint64
	content []byte
}

// machine adds what the file says about the machine and the recording.
func (w *Writer) machine() {
	if w.o.Hostname != "" {
		w.feature(featureHostname, appendString(nil, w.o.Hostname))
	}
	if w.o.Release != "" {
		w.feature(featureRelease, appendString(nil, w.o.Release))
	}
	b := order.AppendUint32(nil, uint32(len(w.o.Command)))
	for _, s := range w.o.Command {
		b = appendString(b, s)
	}
	if len(w.o.Command) > 0 && len(b) <= maxFeature {
		w.feature(featureCommand, b)
	}
}

// maxFeature is the size of a feature for which a record has room.
const maxFeature = 1<<16 - 256

// feature adds a feature, in the order of their ids: struct { u64 id; u8 content[] }.
func (w *Writer) feature(id uint64, content []byte) {
	w.features = append(w.features, feature{id, content})
	w.ends += sectionSize + len(content)
	end := w.begin(typeFeature, 0)
	w.u64(id)
	w.buf = append(append(w.buf, content...), zeros[:-len(content)&7]...)
	end()
}

// appendString appends struct perf_header_string.
func appendString(b []byte, s string) []byte {
	b = order.AppendUint32(b, uint32(len(s)+1))
	return append(append(b, s...), 0)
}

// setClock says which time of day the records' clock shows: that of the first record.
func (w *Writer) setClock(clock, wall uint64) {
	const version = 1
	w.clock, w.wall, w.timed = clock, wall, true
	b := order.AppendUint32(nil, version)
	b = order.AppendUint32(b, clockMonotonic)
	b = order.AppendUint64(b, w.wall)
	w.feature(featureClockData, order.AppendUint64(b, w.clock))
}

// newEvents returns records that describe the events which the file does not describe yet.
func (w *Writer) newEvents() []byte {
	if w.told == len(w.ordered) {
		return nil
	}
	records := w.buf
	w.buf = nil
	defer func() { w.buf = records }()
	events := w.ordered[w.told:]
	w.told, w.untold = len(w.ordered), 0
	for _, e := range events {
		end := w.begin(typeHeaderAttr, 0)
		w.attr(e)
		w.u64(e.id)
		end()
	}
	// perf resolves the events before the formats, and keeps what it has resolved. It accepts only the size of all formats that it
	// has read up to now, since it never sets its count back; it reads what is beyond the actual ones as records. Other tools skip as
	// many bytes as the size says. Records without a meaning suit both.
	formats := tracingData(events)
	end := w.begin(typeTracingData, 0)
	w.u32(uint32(len(formats) + w.formats))
	end()
	w.buf = append(w.buf, formats...)
	w.fill(w.formats)
	w.fill(12) // the next record begins at a multiple of 8 bytes
	w.formats += len(formats)
	return w.buf
}

// fill adds n bytes of records without a meaning, at least the size of a header.
func (w *Writer) fill(n int) {
	const largest = 1 << 15
	for n > 0 {
		size := n
		if n >= 2*largest {
			size = largest
		}
		end := w.begin(typeEventType, 0)
		w.buf = append(w.buf, make([]byte, size-recordHeader)...)
		end()
		n -= size
	}
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

// headerPage describes the pages of ftrace's buffers, which the file does not have. perf requires it, and reads the
// size of long from it.
var headerPage = fmt.Sprintf(`	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:%d;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:%d;	size:4080;	signed:1;
`, bits.UintSize/8, 8+bits.UintSize/8)

// tracingData returns the formats of events in the layout of trace.dat, with its other parts empty.
func tracingData(events []*event) []byte {
	b := append([]byte{23, 8, 68}, "tracing0.6\x00"...)
	bigEndian := byte(0)
	if order.Uint16([]byte{0, 1}) == 1 {
		bigEndian = 1
	}
	b = append(b, bigEndian, bits.UintSize/8) // the size of long
	b = order.AppendUint32(b, uint32(os.Getpagesize()))
	for _, f := range [...]struct{ name, content string }{{"header_page", headerPage}, {"header_event", "\n"}} {
		b = order.AppendUint64(append(append(b, f.name...), 0), uint64(len(f.content)))
		b = append(b, f.content...)
	}
	b = order.AppendUint32(b, 0) // ftrace's own events
	bySystem := map[string][]*event{}
	var systems []string
	for _, e := range events {
		if bySystem[e.key.system] == nil {
			systems = append(systems, e.key.system)
		}
		bySystem[e.key.system] = append(bySystem[e.key.system], e)
	}
	b = order.AppendUint32(b, uint32(len(systems)))
	for _, system := range systems {
		b = append(append(b, system...), 0)
		b = order.AppendUint32(b, uint32(len(bySystem[system])))
		for _, e := range bySystem[system] {
			b = order.AppendUint64(b, uint64(len(e.format)))
			b = append(b, e.format...)
		}
	}
	b = order.AppendUint32(b, 0) // addresses of the kernel's functions
	b = order.AppendUint32(b, 0) // texts of trace_printk
	threads := -len(b) & 7       // empty lines, up to a multiple of 8 bytes
	b = order.AppendUint64(b, uint64(threads))
	return append(b, "\n\n\n\n\n\n\n"[:threads]...)
}
