package perfdata

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// Options configure a Writer.
type Options struct {
	// Format returns the contents of the format file of an event that the kernel has. Writer calls it once for each event
	// with records, as long as the event keeps its number.
	Format func(system, name string) (string, error)
	// Events are events, SYSTEM:NAME, that may have records. The file describes them at its beginning, as far as Format knows them:
	// LinuxTracepoints knows no later ones.
	Events []string
	// Callchain keeps the stacks of events. perf names functions with the mappings of processes, which Symbols
	// provides.
	Callchain bool
	Symbols   *symbols.Table
	// Unordered is set if much older records may come after newer ones: tools then sort the file as a whole.
	Unordered bool
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
	to         io.Writer
	buf        []byte // whole records
	offset     uint64 // bytes written
	sampleType uint64

	events  map[eventKey]*event
	ordered []*event
	recent  *event // of the last record, and what had decoded it
	decoder *reader.Decoder
	ids     map[int]bool // numbers of tracepoints in the file
	told    int          // of the ordered events, how many the file describes
	formats int          // bytes of their formats
	untold  int          // about the bytes that describe the others
	ends    int          // about the bytes that Close adds

	described []span // where it describes them
	features  []feature

	threads map[int32]thread
	// Of the last record:
	recentID     int32
	recentThread thread

	clock, wall uint64 // one moment on the two clocks
	timed       bool   // they are set
	early       []loss // lost before that
	sinceRound  int
	err         error
	closed      bool
}

// flushSize is the size of writes, and roundSize the number of records that perf sorts at a time.
const (
	flushSize = 256 << 10
	roundSize = 10000
)

var errClosed = errors.New("the recording was closed")

// NewWriter begins a recording in an empty file, which has the methods of [os.File], or in another stream. The caller closes it
// after Close. Tools can read what Flush and larger writes have written, whatever ends the program, and also if the disk is full.
func NewWriter(to io.Writer, o Options) (*Writer, error) {
	w := &Writer{
		o: o, to: to,
		sampleType: sampleIdentifier | sampleIP | sampleTID | sampleTime | sampleCPU | samplePeriod | sampleRaw,
		events:     map[eventKey]*event{}, ids: map[int]bool{}, threads: map[int32]thread{}, recentID: -1,
		buf: make([]byte, 0, flushSize+64<<10),
	}
	if o.Callchain {
		w.sampleType |= sampleCallchain
	}
	if o.CgroupID {
		w.sampleType |= sampleCgroup
	}
	w.buf = append(w.buf, magic...)
	w.u64(pipeHeaderSize)
	w.machine()
	err := w.Flush()
	for _, name := range o.Events {
		system, name, _ := strings.Cut(name, ":")
		if text, err := o.Format(system, name); err == nil {
			_, _ = w.add(eventKey{system: system, name: name}, text) // its first record reports the error
		}
	}
	return w, err
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
	e := w.recent
	if ev.Decoder == nil || ev.Decoder != w.decoder || order.Uint16(ev.Raw) != e.key.number { // comparing names costs more
		var err error
		if e, err = w.event(ev); err != nil {
			return err
		}
		w.recent, w.decoder = e, ev.Decoder
	}
	if !w.timed {
		w.setClock(ev.Monotonic, uint64(ev.Time.UnixNano()))
		if err := w.writeEarly(); err != nil {
			return err
		}
	}
	tid := threadOf(ev)
	w.task(ev, tid)
	w.sample(e, ev, tid)
	if w.sinceRound++; w.sinceRound == roundSize && !w.o.Unordered {
		w.sinceRound = 0
		w.begin(typeFinishedRound, 0)()
	}
	return w.flushIfFull()
}

// maxSample leaves room for a record's other fields; the size of a record has 16 bits.
const maxSample = 1<<16 - 256

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

var zeros [8]byte

// trailer ends a record that is not a sample: its task, time, CPU and event.
func (w *Writer) trailer(pid, tid int32, time uint64, cpu int, id uint64) {
	w.u32(uint32(pid), uint32(tid))
	w.u64(time, uint64(uint32(cpu)), id)
}

func (w *Writer) flushIfFull() error {
	if len(w.buf) < flushSize {
		return nil
	}
	return w.Flush()
}

// Flush writes what is buffered, after the events that it needs.
func (w *Writer) Flush() error {
	if events := w.newEvents(); len(events) > 0 {
		start := w.offset
		if err := w.write(events); err != nil {
			return err
		}
		w.described = append(w.described, span{start, w.offset})
	}
	if err := w.write(w.buf); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	return nil
}

// Size returns about how many bytes the file has if it is closed now, and how many of them describe its events.
func (w *Writer) Size() (n, description int64) {
	add := w.ends + w.untold
	if w.told < len(w.ordered) {
		add += w.formats // see newEvents
	}
	description = int64(add)
	for _, s := range w.described {
		description += int64(s.end - s.start)
	}
	return int64(w.offset) + int64(len(w.buf)+add), description
}

// write writes whole records, or the part that there is room for: a file it cuts to what was whole before.
func (w *Writer) write(b []byte) error {
	if w.err != nil || len(b) == 0 {
		return w.err
	}
	if _, err := w.to.Write(b); err != nil {
		w.err = fmt.Errorf("writing perf.data: %w", err)
		if f, ok := w.to.(file); ok {
			_ = f.Truncate(int64(w.offset)) // the error of writing says more
		}
		return w.err
	}
	w.offset += uint64(len(b))
	return nil
}
