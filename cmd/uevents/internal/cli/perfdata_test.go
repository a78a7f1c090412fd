package cli

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/userevents/userevents-go/record"
)

// statusEvent is the format of an event with a status, as perf.data has it.
const statusEvent = "name: myapp_x\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" +
	"\tfield:u32 status;\toffset:4;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n"

// perfData is what perf record -k mono writes of statusEvent alone: its records need no ids.
type perfData struct {
	records         []byte
	wall, monotonic uint64 // of the first record
}

// encoded appends numbers of fixed sizes, and slices and structs of these, in the byte order of the machine.
func encoded(b []byte, list ...any) []byte {
	for _, v := range list {
		var err error
		if b, err = binary.Append(b, binary.NativeEndian, v); err != nil {
			panic(err)
		}
	}
	return b
}

// perfRecord returns a record with its header.
func perfRecord(kind uint32, body []byte) []byte {
	return append(encoded(nil, kind, uint16(0), uint16(8+len(body))), body...)
}

// add adds a record of the event.
func (p *perfData) add(ev *record.Record) {
	if p.records == nil {
		p.wall, p.monotonic = uint64(ev.Time.UnixNano()), ev.Monotonic
	}
	raw := append(slices.Clip(ev.Raw), make([]byte, (4-len(ev.Raw))&7)...)
	body := encoded(nil, ev.PID, ev.TID, ev.Monotonic, uint64(ev.CPU), uint32(len(raw)), raw)
	p.records = append(p.records, perfRecord(9, body)...)
}

// lost adds a number of records that were lost until a time.
func (p *perfData) lost(n uint64, at time.Time) {
	monotonic := p.monotonic + uint64(at.UnixNano()) - p.wall
	p.records = append(p.records, perfRecord(2, encoded(nil, uint64(0), n, uint64(0), monotonic, uint64(0)))...)
}

// attr returns struct perf_event_attr.
func (*perfData) attr() []byte {
	const tid, at, cpu, raw = 1 << 1, 1 << 2, 1 << 7, 1 << 10
	const sampleIDAll, useClockID = 1 << 18, 1 << 25
	const tracepoint, monotonic = 2, 1
	return encoded(nil, []uint32{tracepoint, 112}, []uint64{7, 1, tid | at | cpu | raw, 0, sampleIDAll | useClockID},
		[44]byte{}, uint32(monotonic), [16]byte{})
}

// formats returns the format in the layout of trace.dat, with its other parts empty.
func (*perfData) formats() []byte {
	bigEndian := byte(binary.NativeEndian.Uint16([]byte{0, 1}) & 1)
	return encoded(nil, []byte("\x17\x08\x44tracing0.6\x00"), bigEndian, byte(bits.UintSize/8), uint32(4096),
		[]byte("header_page\x00"), uint64(0), []byte("header_event\x00"), uint64(0), uint32(0),
		uint32(1), []byte("user_events\x00"), uint32(1), uint64(len(statusEvent)), []byte(statusEvent))
}

// clock returns the feature with the time of day.
func (p *perfData) clock() []byte { return encoded(nil, []uint32{1, 1}, p.wall, p.monotonic) }

// stream returns the recording as it is in a pipe, or in the file of a program that was killed.
func (p *perfData) stream() []byte {
	const attr, tracingData, feature, clockData = 64, 66, 80, 29
	formats := p.formats()
	return encoded([]byte("PERFILE2"), uint64(16), perfRecord(attr, p.attr()), perfRecord(tracingData, encoded(nil, uint32(len(formats)))), formats,
		perfRecord(feature, encoded(nil, uint64(clockData), p.clock())), p.records)
}

// file returns the recording as a finished file: header, records, sections of features, event.
func (p *perfData) file() []byte {
	const header = 104
	attr, formats, clock := p.attr(), p.formats(), p.clock()
	records, entry, formatsSize, clockSize := uint64(len(p.records)), uint64(len(attr)+16), uint64(len(formats)), uint64(len(clock))
	formatsAt := header + records + 2*16
	attrAt := formatsAt + formatsSize + clockSize
	features := [4]uint64{1<<1 | 1<<29}
	return encoded([]byte("PERFILE2"), []uint64{header, entry, attrAt, entry, header, records, 0, 0}, features, p.records,
		[]uint64{formatsAt, formatsSize, formatsAt + formatsSize, clockSize}, formats, clock, attr, [2]uint64{})
}
