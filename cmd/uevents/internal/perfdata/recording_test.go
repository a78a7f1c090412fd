package perfdata

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/userevents/userevents-go/record"
)

// Recording is what perf record writes of tracepoints. The zero value is an empty one; its options are set before the first event.
type Recording struct {
	Callchain bool // samples have a stack
	CgroupID  bool // samples have the id of a cgroup

	records []byte // without those that describe events
	stream  []byte // all of them
	formats []format
	clock   []byte // the feature with the time of day
	since   uint64 // wall clock minus the records' clock
}

type format struct {
	system, text string
	number       int // of the tracepoint
}

// attrSize is the size of struct perf_event_attr.
const attrSize = 112

// Event adds an event, and returns the id of its records. The text is a format file, whose number is that of the tracepoint.
func (r *Recording) Event(system, text string) (id uint64) {
	f := format{system: system, text: text}
	_, number, _ := strings.Cut(text, "ID: ")
	if _, err := fmt.Sscan(number, &f.number); err != nil {
		panic(err)
	}
	r.formats = append(r.formats, f)
	id = uint64(len(r.formats))
	r.describe(typeHeaderAttr, order.AppendUint64(r.attr(&f), id))
	formats := tracingDataOf([]format{f})
	r.describe(typeTracingData, order.AppendUint32(nil, uint32(len(formats))))
	r.stream = append(r.stream, formats...)
	return id
}

// attr returns struct perf_event_attr.
func (r *Recording) attr(f *format) []byte {
	sampleType := uint64(sampleIdentifier | sampleIP | sampleTID | sampleTime | sampleCPU | samplePeriod | sampleRaw)
	if r.Callchain {
		sampleType |= sampleCallchain
	}
	if r.CgroupID {
		sampleType |= sampleCgroup
	}
	b := order.AppendUint32(order.AppendUint32(nil, typeTracepoint), attrSize)
	b = append(b, words(uint64(f.number), 1, sampleType, 0, attrSampleIDAll|attrUseClockID, 0, 0, 0, 0, 0)...)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint32(b, clockMonotonic)
	return append(b, make([]byte, attrSize-len(b))...)
}

// tracingDataOf returns the formats of events in the layout of trace.dat, with its other parts empty.
func tracingDataOf(formats []format) []byte {
	bigEndian := byte(order.Uint16([]byte{0, 1}) & 1)
	b := append([]byte("\x17\x08\x44tracing0.6\x00"), bigEndian, bits.UintSize/8)
	b = order.AppendUint32(b, 4096)
	for _, name := range []string{"header_page", "header_event"} {
		b = order.AppendUint64(append(append(b, name...), 0), 0)
	}
	b = order.AppendUint32(b, 0) // ftrace's own events
	b = order.AppendUint32(b, uint32(len(formats)))
	for _, f := range formats { // each has its system: one may be there several times
		b = append(append(b, f.system...), 0)
		b = order.AppendUint32(b, 1)
		b = append(order.AppendUint64(b, uint64(len(f.text))), f.text...)
	}
	return append(b, make([]byte, 16+(-len(b)&7))...) // no symbols, texts and threads
}

// Record adds a record with a body.
func (r *Recording) Record(kind uint32, misc uint16, body []byte) {
	b := encoded(kind, misc, body)
	r.records, r.stream = append(r.records, b...), append(r.stream, b...)
}

func (r *Recording) describe(kind uint32, body []byte) {
	r.stream = append(r.stream, encoded(kind, 0, body)...)
}

func encoded(kind uint32, misc uint16, body []byte) []byte {
	b := order.AppendUint16(order.AppendUint32(nil, kind), misc)
	return append(order.AppendUint16(b, uint16(8+len(body))), body...)
}

// trailer returns the end of a record that is not a sample.
func trailer(pid, tid int32, at uint64, id uint64) []byte {
	return words(pair(pid, tid), at, 0, id)
}

// pair returns two numbers of 32 bits as they are in a record.
func pair(a, b int32) uint64 {
	return order.Uint64(order.AppendUint32(order.AppendUint32(nil, uint32(a)), uint32(b)))
}

// Add adds a record of an event. The first one says which time of day the records' clock shows.
func (r *Recording) Add(id uint64, ev *record.Record) {
	r.setClock(ev)
	b := words(id, 0, pair(ev.PID, ev.TID), ev.Monotonic, pair(int32(ev.CPU), 0), 1)
	if r.Callchain {
		b = append(append(b, words(uint64(len(ev.Callchain)+1), contextUser)...), words(ev.Callchain...)...)
	}
	size := (4+len(ev.Raw)+7)&^7 - 4 // with padding
	b = order.AppendUint32(b, uint32(size))
	b = append(append(b, ev.Raw...), make([]byte, size-len(ev.Raw))...)
	if r.CgroupID {
		b = order.AppendUint64(b, ev.CgroupID)
	}
	r.Record(typeSample, 2, b)
}

func (r *Recording) setClock(ev *record.Record) {
	if r.clock == nil {
		wall := uint64(ev.Time.UnixNano())
		r.since = wall - ev.Monotonic
		r.clock = append(words[uint32](1, clockMonotonic), words(wall, ev.Monotonic)...)
		r.describe(typeFeature, append(words[uint64](featureClockData), r.clock...))
	}
}

// Comm adds the name of a process.
func (r *Recording) Comm(pid int32, name string) {
	b := append(words(pair(pid, pid)), name...)
	r.Record(typeComm, 0, append(append(b, make([]byte, 8-len(name)%8)...), trailer(pid, pid, 0, 0)...))
}

// Lost adds a number of records of an event, by its id, that were lost until a time. It follows a record of an event.
func (r *Recording) Lost(id, n uint64, at time.Time) {
	r.Record(typeLost, 0, append(words(id, n), trailer(0, 0, uint64(at.UnixNano())-r.since, id)...))
}

// Round ends a round of records: those up to the newest one of the round before are there.
func (r *Recording) Round() { r.Record(typeFinishedRound, 0, nil) }

// Stream returns the recording as it is in a pipe, or in the file of a program that was killed.
func (r *Recording) Stream() []byte {
	return append(append([]byte(magic), words[uint64](pipeHeaderSize)...), r.stream...)
}

// File returns the recording as a finished file: header, records, features, ids, events.
func (r *Recording) File() []byte {
	b := append(make([]byte, fileHeaderSize), r.records...)
	data := section{fileHeaderSize, uint64(len(r.records))}
	features := [][]byte{tracingDataOf(r.formats), r.clock}
	at := uint64(len(b) + len(features)*sectionSize)
	for _, content := range features {
		b = append(b, words(at, uint64(len(content)))...)
		at += uint64(len(content))
	}
	for _, content := range features {
		b = append(b, content...)
	}
	ids := uint64(len(b))
	for id := range r.formats {
		b = append(b, words(uint64(id+1))...)
	}
	attrs := section{uint64(len(b)), uint64(len(r.formats)) * (attrSize + sectionSize)}
	for i := range r.formats {
		b = append(append(b, r.attr(&r.formats[i])...), words(ids+8*uint64(i), 8)...)
	}
	const has = 1<<featureTracingData | 1<<featureClockData
	header := words[uint64](fileHeaderSize, attrSize+sectionSize, attrs.offset, attrs.size, data.offset, data.size, 0, 0, has)
	copy(b[copy(b, magic):], header)
	return b
}
