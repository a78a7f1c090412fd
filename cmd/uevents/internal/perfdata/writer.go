package perfdata

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// Options are the choices of a Writer.
type Options struct {
	// Format returns the content of an event's format file. It is asked once for each event that has records, as long
	// as the event keeps its number.
	Format func(system, name string) (string, error)
	// Callchain keeps the stacks of events. Symbols then has the mappings of processes, which perf needs to name the
	// functions.
	Callchain bool
	Symbols   *symbols.Table
	// CgroupID keeps the ids of cgroups.
	CgroupID bool
	// Hostname and Release (of the kernel) are those of the machine, and Command is what made the recording. They are
	// left out if they are empty.
	Hostname, Release string
	Command           []string
}

// Writer writes a recording. It implements the interface of the command's formats. It must not be used concurrently.
type Writer struct {
	o          Options
	file       io.WriteSeeker
	buf        []byte
	offset     uint64 // of the end of buf in the file
	sampleType uint64

	events  map[eventKey]*event
	ordered []*event
	recent  *event
	ids     map[int]bool // numbers of tracepoints in the file

	threads map[int32]thread
	// Of the last record:
	recentID     int32
	recentThread thread

	newest      uint64 // time of the newest record
	clock, wall uint64 // one moment on the two clocks
	sinceRound  int
	err         error
	closed      bool
}

// event is an event that has records in the file.
type event struct {
	key    eventKey
	id     uint64 // in records
	number int    // of the tracepoint, in the file
	format string
}

// eventKey is what a tracepoint is known by. One that was registered again, with other fields, has another number.
type eventKey struct {
	system, name string
	number       uint16
}

// flushSize is how much is written at a time, and roundSize how many records perf has to sort at a time.
const (
	flushSize = 256 << 10
	roundSize = 10000
)

var errClosed = errors.New("the recording was closed")

// NewWriter begins a recording in a file, which must be empty. The caller closes it after Close.
func NewWriter(file io.WriteSeeker, o Options) (*Writer, error) {
	w := &Writer{
		o: o, file: file,
		sampleType: sampleIdentifier | sampleIP | sampleTID | sampleTime | sampleCPU | samplePeriod | sampleRaw,
		events:     map[eventKey]*event{}, ids: map[int]bool{}, threads: map[int32]thread{}, recentID: -1,
		buf: make([]byte, fileHeaderSize, flushSize+64<<10),
	}
	if o.Callchain {
		w.sampleType |= sampleCallchain
	}
	if o.CgroupID {
		w.sampleType |= sampleCgroup
	}
	// Files that were not closed have a header without sizes.
	copy(w.buf, magic)
	return w, w.flush()
}

// Write adds a record, from its bytes: the event need not be decoded.
func (w *Writer) Write(ev *reader.Event) error {
	switch {
	case w.closed:
		return errClosed
	case w.err != nil:
		return w.err
	case len(ev.Raw) < 2:
		return fmt.Errorf("a record of %s:%s without its bytes cannot be written as perf.data", ev.System, ev.Name)
	case len(ev.Raw)+8*len(ev.Callchain) > maxSample:
		return fmt.Errorf("a record of %s:%s is too large for perf.data", ev.System, ev.Name)
	}
	e, err := w.event(ev)
	if err != nil {
		return err
	}
	if w.clock == 0 {
		w.clock, w.wall = ev.Monotonic, uint64(ev.Time.UnixNano())
	}
	w.newest = max(w.newest, ev.Monotonic)
	w.task(ev)
	w.sample(e, ev)
	if w.sinceRound++; w.sinceRound == roundSize {
		w.sinceRound = 0
		w.begin(typeFinishedRound, 0)()
	}
	return w.flushIfFull()
}

// maxSample leaves room for the other fields in a record, whose size has 16 bits.
const maxSample = 1<<16 - 256

// event returns the event of a record. Often it is that of the last one.
func (w *Writer) event(ev *reader.Event) (*event, error) {
	key := eventKey{ev.System, ev.Name, order.Uint16(ev.Raw)}
	if w.recent != nil && w.recent.key == key {
		return w.recent, nil
	}
	e := w.events[key]
	if e == nil {
		text, err := w.o.Format(ev.System, ev.Name)
		if err != nil {
			return nil, fmt.Errorf("recording %s:%s: %w", ev.System, ev.Name, err)
		}
		f, err := tracepoint.ParseFormat(text)
		if err != nil {
			return nil, fmt.Errorf("recording %s:%s: %w", ev.System, ev.Name, err)
		}
		e = &event{key: key, id: uint64(len(w.ordered) + 1), number: f.ID, format: text}
		if w.ids[e.number] {
			// The kernel gave the number of an event that is gone to another one.
			for e.number = 1 << 16; w.ids[e.number]; e.number++ {
			}
			e.format = withNumber(text, e.number)
		}
		w.ids[e.number] = true
		w.events[key] = e
		w.ordered = append(w.ordered, e)
	}
	w.recent = e
	return e, nil
}

// begin begins a record. The function that it returns sets the record's size at its end.
func (w *Writer) begin(kind uint32, misc uint16) (end func()) {
	start := len(w.buf)
	w.buf = order.AppendUint32(w.buf, kind)
	w.buf = order.AppendUint16(w.buf, misc)
	w.buf = order.AppendUint16(w.buf, 0)
	return func() { order.PutUint16(w.buf[start+6:], uint16(len(w.buf)-start)) }
}

func (w *Writer) u32(v ...uint32) {
	for _, v := range v {
		w.buf = order.AppendUint32(w.buf, v)
	}
}

func (w *Writer) u64(v ...uint64) {
	for _, v := range v {
		w.buf = order.AppendUint64(w.buf, v)
	}
}

// sample adds the record itself.
func (w *Writer) sample(e *event, ev *reader.Event) {
	b, start := w.buf, len(w.buf)
	b = order.AppendUint32(b, typeSample)
	b = order.AppendUint32(b, miscUser) // misc, and the size, which follows
	b = order.AppendUint64(b, e.id)
	ip := uint64(0)
	if len(ev.Callchain) > 0 {
		ip = ev.Callchain[0]
	}
	b = order.AppendUint64(b, ip)
	b = order.AppendUint32(b, uint32(ev.PID))
	b = order.AppendUint32(b, uint32(ev.TID))
	b = order.AppendUint64(b, ev.Monotonic)
	b = order.AppendUint64(b, uint64(uint32(ev.CPU))) // u32 cpu, reserved
	b = order.AppendUint64(b, 1)                      // the period: each record is one event
	if w.o.Callchain {
		b = order.AppendUint64(b, uint64(len(ev.Callchain)+1))
		b = order.AppendUint64(b, contextUser)
		for _, addr := range ev.Callchain {
			b = order.AppendUint64(b, addr)
		}
	}
	padding := -(4 + len(ev.Raw)) & 7
	b = order.AppendUint32(b, uint32(len(ev.Raw)+padding))
	b = append(append(b, ev.Raw...), zeros[:padding]...)
	if w.o.CgroupID {
		b = order.AppendUint64(b, ev.CgroupID)
	}
	order.PutUint16(b[start+6:], uint16(len(b)-start))
	w.buf = b
}

var zeros [8]byte

// Lost adds the number of records of an event, named SYSTEM:NAME, that the kernel lost.
func (w *Writer) Lost(name string, n uint64, at time.Time) error {
	if w.closed {
		return errClosed
	}
	for _, e := range w.ordered {
		if e.key.system+":"+e.key.name == name {
			t := uint64(at.UnixNano()) - w.wall + w.clock
			end := w.begin(typeLost, 0)
			w.u64(e.id, n)
			w.trailer(0, 0, t, 0, e.id)
			end()
			return w.flushIfFull()
		}
	}
	return nil // perf has nothing to count them for: no record of the event is in the file
}

// trailer ends a record that is no sample: who, when, where and of which event.
func (w *Writer) trailer(pid, tid int32, time uint64, cpu int, id uint64) {
	w.u32(uint32(pid), uint32(tid))
	w.u64(time, uint64(uint32(cpu)), id)
}

func (w *Writer) flushIfFull() error {
	if len(w.buf) < flushSize {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if _, err := w.file.Write(w.buf); err != nil {
		w.err = fmt.Errorf("writing perf.data: %w", err)
		return w.err
	}
	w.offset += uint64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}
