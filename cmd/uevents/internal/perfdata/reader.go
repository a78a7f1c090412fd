// Package perfdata reads recordings of perf record: perf.data files, and what it writes to a pipe, with the formats and tasks that
// decoding needs.
//
// The kernel's tools/perf/Documentation/perf.data-file-format.txt describes the file, include/uapi/linux/perf_event.h
// its records, and the manual page trace-cmd.dat.v6(5) the section of formats ("tracing data"). All numbers are in the
// byte order of the machine.
package perfdata

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
)

// errFormat reports a file that is not a recording, is damaged, or has parts that this package does not read. Errors
// wrap it.
var errFormat = errors.New("no perf.data file that can be read")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errFormat, fmt.Errorf(format, args...))
}

// ErrCut reports a recording that ends in the middle of a record: the program that wrote it was killed, or the disk was full.
// Errors wrap it after all records before.
var ErrCut = errors.New("the recording ends in the middle of a record")

// Reader reads a recording of tracepoints. It must not be used concurrently.
type Reader struct {
	// Lost is called when Next reads how many records of an event, named SYSTEM:NAME, were lost until a time. The name is
	// empty if the file does not say it. nil ignores them. Next returns its error.
	Lost func(name string, n uint64, at time.Time) error

	symbols *symbols.Table // gets the mappings; may be nil

	layouts    map[uint64]*layout // by id of the records; 0 if the file has no ids
	any        *layout            // of the first event, for records without an id; nil before it
	formats    map[uint64]*tracepointFormat
	unresolved map[uint64][]*layout // of tracepoints whose formats did not come yet, by their numbers
	chain      []uint64
	copies     record.Copies
	queue      queue

	clock  Clock
	offset int64 // wall clock minus the records' clock
	// Numbers of the records' clock, and of the one that the file knows the time of day of, which is wallOffset more:
	recordClock, wallClock uint32
	wallOffset             int64

	processes map[int32]*record.Process
	skipped   uint64
	losses    losses
}

// layout is the layout of an event's records, and their decoder.
type layout struct {
	sampleType  uint64
	sampleIDAll bool
	system      string
	name        string
	tracepoint  bool
	number      uint64          // of the tracepoint
	decoder     *record.Decoder // nil for events that are not tracepoints
}

// Open begins to read a file, or a stream as perf record -o - writes it. A finished file has parts at several places,
// for which in must have the methods of [os.File]. While Next reads, it adds the mappings of processes to the table of symbols, which
// may be nil. The file must stay open while the Reader is in use.
func Open(in io.Reader, table *symbols.Table) (*Reader, error) {
	r := &Reader{
		symbols: table, layouts: map[uint64]*layout{}, formats: map[uint64]*tracepointFormat{}, unresolved: map[uint64][]*layout{}, processes: map[int32]*record.Process{},
		clock: Clock{Monotonic: true, WallTime: true}, recordClock: noClock, wallClock: noClock,
	}
	buf := bufio.NewReaderSize(in, 1<<20)
	begin, err := buf.Peek(pipeHeaderSize)
	if err != nil {
		return nil, malformed("reading the header: %w", err)
	}
	switch string(begin[:MagicSize]) {
	case magic:
	case otherMagic:
		return nil, malformed("it comes from a machine with another byte order")
	default:
		return nil, malformed("it does not begin with %s", magic)
	}
	r.queue = queue{buf: buf, limit: maxWaiting}
	switch size := order.Uint64(begin[MagicSize:]); size {
	case pipeHeaderSize:
		n, err := buf.Discard(pipeHeaderSize)
		r.queue.next = uint64(n)
		return r, err
	case fileHeaderSize:
		return r, r.openSections(in)
	default:
		return nil, malformed("a header of %d bytes", size)
	}
}

// Next decodes the next record of a tracepoint into ev, in order of time. It omits the copies of declared log records.
// It returns [io.EOF] at the end. After an error that wraps [record.ErrMalformed], it continues with the next record; one
// that does not fit the format of its event is no error, but is marked as undecodable.
// Memory that ev refers to is valid until the next call.
func (r *Reader) Next(ev *record.Record) error {
	for {
		rec, err := r.queue.pop(r)
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
		if l == nil || !l.tracepoint {
			r.skipped++
			continue
		}
		if l.decoder == nil {
			return malformed("it has no format of tracepoint %d", l.number)
		}
		s, ok := l.parse(rec, r.chain)
		r.chain = s.callchain
		if !ok {
			return fmt.Errorf("%w: %s:%s at time %d", record.ErrMalformed, l.system, l.name, rec.time)
		}
		_ = l.decoder.DecodeReuse(s.raw, ev) // it is Undecodable
		ev.Monotonic, ev.Time = s.time, time.Unix(0, int64(s.time)+r.offset)
		ev.PID, ev.TID, ev.CPU, ev.CgroupID = s.pid, s.tid, s.cpu, s.cgroup
		ev.Callchain, ev.Process = s.callchain, r.process(s.pid)
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
func (r *Reader) layoutOf(rec entry) *layout {
	if len(r.layouts) == 0 {
		return r.any
	}
	return r.layouts[r.any.id(rec)]
}

// timeOf returns the time of a record, or 0 if it has none.
func (r *Reader) timeOf(rec entry) uint64 {
	l := r.layoutOf(rec)
	if l == nil {
		l = r.any
	}
	return l.common(rec, sampleTime)
}

// losses are the lost records that the file has counts of. The kernel counts them twice since Linux 6.0: for a ring, when
// there is room again (typeLost), and for an event, which perf record reads and adds at the end (typeLostSamples).
type losses struct {
	ofRings  uint64            // said by Reader.Lost
	ofEvents map[string]uint64 // by name
}

func (r *Reader) lost(rec entry) error {
	c := &cursor{b: rec.body()}
	if rec.kind() == typeLostSamples { // u64 lost
		if n := c.u64(); n > 0 && rec.misc()&miscLostSamplesBPF == 0 {
			if r.losses.ofEvents == nil {
				r.losses.ofEvents = map[string]uint64{}
			}
			r.losses.ofEvents[r.layoutOf(rec).fullName()] += n
		}
		return nil
	}
	id, n := c.u64(), c.u64() // u64 id, lost
	if n == 0 {
		return nil
	}
	r.losses.ofRings += n
	l := r.any
	if len(r.layouts) > 0 {
		l = r.layouts[id]
	}
	return r.sayLost(l.fullName(), n, rec.time)
}

// lostSamples says, at the end of the file, what events lost beside what was lost of their rings.
func (r *Reader) lostSamples() error {
	said := r.losses.ofRings
	for _, name := range slices.Sorted(maps.Keys(r.losses.ofEvents)) {
		n := r.losses.ofEvents[name]
		delete(r.losses.ofEvents, name)
		again := min(n, said)
		said -= again
		if n == again {
			continue
		}
		if err := r.sayLost(name, n-again, r.queue.newest); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) sayLost(name string, n, at uint64) error {
	if r.Lost == nil {
		return nil
	}
	return r.Lost(name, n, time.Unix(0, int64(at)+r.offset))
}

// fullName returns SYSTEM:NAME, and nothing for events that are no tracepoints.
func (l *layout) fullName() string {
	if l == nil || l.decoder == nil {
		return ""
	}
	return l.system + ":" + l.name
}

func (r *Reader) task(rec entry) {
	c := &cursor{b: rec.body()}
	word := func() int32 { return int32(c.u32()) }
	switch rec.kind() {
	case typeComm: // u32 pid, tid; char comm[]
		pid, tid := word(), word()
		if comm := cut(c.b); !c.bad && pid == tid {
			p := *r.process(pid) // a copy: earlier records keep the previous one
			p.Comm = comm
			r.processes[pid] = &p
			if rec.misc()&miscCommExec != 0 && r.symbols != nil {
				r.symbols.Forget(pid)
			}
		}
	case typeFork: // u32 pid, ppid, tid, ptid
		pid, parent := word(), word()
		if !c.bad && pid != parent {
			p := *r.process(parent)
			p.PID = pid
			r.processes[pid] = &p
			if r.symbols != nil {
				r.symbols.Inherit(pid, parent)
			}
		}
	case typeMmap2:
		r.mapping(rec, c)
	}
}

// mapping applies a record of a mapping: struct { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation;
// u32 prot, flags; char filename[] }.
func (r *Reader) mapping(rec entry, c *cursor) {
	if rec.misc()&miscMmapData != 0 || r.symbols == nil {
		return
	}
	pid := int32(c.u32())
	c.u32() // tid
	start, size := c.u64(), c.u64()
	m := symbols.Mapping{Start: start, End: start + size, Offset: c.u64()}
	major, minor, inode := c.u32(), c.u32(), c.u64()
	if rec.misc()&miscBuildID == 0 {
		m.Device, m.Inode = fmt.Sprintf("%02x:%02x", major, minor), inode
	}
	c.take(16) // ino_generation, prot, flags
	m.Path = cut(c.b)
	if !c.bad && m.End > m.Start && pid > 0 {
		r.symbols.Map(pid, m)
	}
}

// cut returns a text up to its terminating zero.
func cut(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

func (r *Reader) process(pid int32) *record.Process {
	p := r.processes[pid]
	if p == nil {
		p = &record.Process{PID: pid}
		r.processes[pid] = p
	}
	return p
}
