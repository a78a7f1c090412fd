package perfdata

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// Options configure a Writer.
type Options struct {
	// Format returns the contents of the format file of an event that the kernel has. Writer calls it once for each event
	// with records, as long as the event keeps its number.
	Format func(system, name string) (string, error)
	// Callchain keeps the stacks of events. perf names functions with the mappings of processes, which Symbols
	// provides.
	Callchain bool
	Symbols   *symbols.Table
	// CgroupID keeps the ids of cgroups.
	CgroupID bool
	// Hostname, Release (of the kernel) and Command describe the machine and the command line of the recording. Empty
	// ones are omitted.
	Hostname, Release string
	Command           []string
}

// Writer writes a recording. It implements output.Writer. It must not be used concurrently.
type Writer struct {
	o          Options
	file       io.WriteSeeker
	buf        []byte
	offset     uint64   // of the start of buf in the file
	ends       []uint64 // of what was written at a time, whole records
	sampleType uint64

	events  map[eventKey]*event
	ordered []*event
	recent  *event
	ids     map[int]bool // numbers of tracepoints in the file

	threads map[int32]thread
	// Of the last record:
	recentID     int32
	recentThread thread

	clock, wall uint64 // one moment on the two clocks
	sinceRound  int
	err         error
	closed      bool
}

// event is an event with records in the file.
type event struct {
	key    eventKey
	id     uint64 // in records
	number int    // of the tracepoint, in the file
	format string
}

// eventKey identifies a tracepoint. After a registration with other fields, it has another number. Events in shared memory have
// none, but a decoder for each declaration.
type eventKey struct {
	system, name string
	number       uint16
	decoder      *reader.Decoder
}

// flushSize is the size of writes, and roundSize the number of records that perf sorts at a time.
const (
	flushSize = 256 << 10
	roundSize = 10000
)

var errClosed = errors.New("the recording was closed")

// ErrUnreadable is wrapped by errors after which the file cannot be read. After other errors it has what was written before.
var ErrUnreadable = errors.New("the file cannot be read: it has no header")

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
	// If Close is not called, the header has no sizes.
	copy(w.buf, magic)
	return w, w.flush()
}

// Write adds the raw bytes of a record: the event need not be decoded.
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
	w.task(ev)
	w.sample(e, ev)
	if w.sinceRound++; w.sinceRound == roundSize {
		w.sinceRound = 0
		w.begin(typeFinishedRound, 0)()
	}
	return w.flushIfFull()
}

// maxSample leaves room for a record's other fields; the size of a record has 16 bits.
const maxSample = 1<<16 - 256

// event returns the event of a record. It is often that of the record before.
func (w *Writer) event(ev *reader.Event) (*event, error) {
	key := eventKey{system: ev.System, name: ev.Name, number: order.Uint16(ev.Raw)}
	if key.number == 0 {
		key.decoder = ev.Decoder
	}
	if w.recent != nil && w.recent.key == key {
		return w.recent, nil
	}
	e := w.events[key]
	if e == nil {
		text, err := w.formatText(ev)
		if err != nil {
			return nil, fmt.Errorf("recording %s:%s: %w", ev.System, ev.Name, err)
		}
		f, err := tracepoint.ParseFormat(text)
		if err != nil {
			return nil, fmt.Errorf("recording %s:%s: %w", ev.System, ev.Name, err)
		}
		e = &event{key: key, id: uint64(len(w.ordered) + 1), number: f.ID, format: text}
		if w.ids[e.number] || e.number == 0 {
			e.number = 1 << 16 // the kernel reused the number of a removed event
			if key.number == 0 {
				e.number = 1 << 15 // it is in shared memory; records have the number, and 16 bits for it
			}
			for w.ids[e.number] {
				e.number++
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

// formatText returns the contents of the format file of a record's event, which events in shared memory do not have.
func (w *Writer) formatText(ev *reader.Event) (string, error) {
	if order.Uint16(ev.Raw) == 0 && ev.Decoder != nil {
		return ev.Decoder.Format().String(), nil
	}
	return w.o.Format(ev.System, ev.Name)
}

// begin starts a record. end completes it with its size.
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

// sample adds a record of an event.
func (w *Writer) sample(e *event, ev *reader.Event) {
	ip := uint64(0)
	if len(ev.Callchain) > 0 {
		ip = ev.Callchain[0]
	}
	start := len(w.buf)
	b := slices.Grow(w.buf, sampleSize)[:start+sampleSize]
	fixed := (*[sampleSize]byte)(b[start:])
	order.PutUint32(fixed[0:], typeSample)
	order.PutUint32(fixed[4:], miscUser) // misc, and the size, which follows
	order.PutUint64(fixed[8:], e.id)
	order.PutUint64(fixed[16:], ip)
	order.PutUint32(fixed[24:], uint32(ev.PID))
	order.PutUint32(fixed[28:], uint32(threadOf(ev)))
	order.PutUint64(fixed[32:], ev.Monotonic)
	order.PutUint64(fixed[40:], uint64(uint32(ev.CPU))) // u32 cpu, reserved
	order.PutUint64(fixed[48:], 1)                      // the period: each record is one event
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
	if e.key.number == 0 {
		order.PutUint16(b[len(b)-padding-len(ev.Raw):], uint16(e.number))
	}
	if w.o.CgroupID {
		b = order.AppendUint64(b, ev.CgroupID)
	}
	order.PutUint16(b[start+6:], uint16(len(b)-start))
	w.buf = b
}

// sampleSize is the size of a record of an event without its stack and its bytes.
const sampleSize = 56

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
	return nil // perf cannot count them: the file has no record of the event
}

// trailer ends a record that is not a sample: its task, time, CPU and event.
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

// flush writes what is buffered. After an error the file is finished, as far as there is room for it.
func (w *Writer) flush() error {
	if err := w.write(); err != nil {
		w.err = w.rescue(err)
		return w.err
	}
	w.ends = append(w.ends, w.offset)
	return nil
}

func (w *Writer) write() error {
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("writing perf.data: %w", err)
	}
	w.offset += uint64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}
