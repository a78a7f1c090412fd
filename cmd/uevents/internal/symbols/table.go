package symbols

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// Limits of a table's caches.
const (
	maxProcesses   = 256
	maxExecutables = 64
	maxBytes       = 256 << 20 // of the tables of executables; one of them may have more
	maxFrameBytes  = 64 << 20  // of the frames of all processes
)

// refresh is the minimum interval for reading a process's mappings again after an unknown address.
const refresh = time.Second

// Table finds the functions of processes. It caches files and mappings, within limits, even after processes have ended.
// It must not be used concurrently.
type Table struct {
	proc        string
	processes   map[int32]*process
	executables map[identity]*executable
	bytes       int // of executables
	frameBytes  int
	now         func() time.Time
	uses        uint64 // sequence number of uses of processes and executables
	stack       []Frame
}

type process struct {
	mappings []Mapping
	objects  map[string]identity // of files, by path; the zero value if a file cannot be read
	frames   map[uint64][]Frame  // by address of an instruction
	bytes    int                 // of frames
	given    bool                // mappings come from Map
	owner    *reader.Process     // of the last event; after an exec it is another one
	read     time.Time           // time of the last read of the mappings
	used     uint64
}

// New returns a table for the processes of this machine.
func New() *Table { return newTable("/proc") }

func newTable(proc string) *Table {
	return &Table{proc: proc, processes: map[int32]*process{}, executables: map[identity]*executable{}, now: time.Now}
}

// Forget drops what is known of a process: it runs another program, or a new process has its number. Notice does so
// for processes that have events.
func (t *Table) Forget(pid int32) {
	if p := t.processes[pid]; p != nil {
		t.dropFrames(p)
		delete(t.processes, pid)
	}
}

// Map adds a mapping of a recorded process, for which /proc is not read. Its file is read at its path, unless another
// file is there now.
func (t *Table) Map(pid int32, m Mapping) {
	p := t.processes[pid]
	if p == nil || !p.given {
		p = t.add(pid)
		p.given = true
	}
	i, found := slices.BinarySearchFunc(p.mappings, m.Start, func(have Mapping, start uint64) int {
		return cmp.Compare(have.Start, start)
	})
	switch {
	case found:
		p.mappings[i] = m
	case len(p.mappings) < maxMappings:
		p.mappings = slices.Insert(p.mappings, i, m)
	}
	t.dropFrames(p)
}

// Load reads the mappings and the program of a new process, so that most of its stacks can be resolved after it has
// ended.
func (t *Table) Load(pid int32) { t.process(pid) }

// Mappings returns the executable mappings of a process. The caller must not change them.
func (t *Table) Mappings(pid int32) []Mapping { return t.process(pid).mappings }

// AppendFrames appends the functions on a stack, innermost first. stack has the address of an instruction and the
// return addresses of its callers, like [perf.Record.Callchain]. For an unknown address, the frame has no Func.
//
// [perf.Record.Callchain]: https://pkg.go.dev/github.com/userevents/userevents-go/uevents/perf#Record
func (t *Table) AppendFrames(frames []Frame, pid int32, stack []uint64) []Frame {
	if len(stack) == 0 {
		return frames
	}
	p := t.process(pid)
	for i, addr := range stack {
		if i > 0 && addr > 0 {
			addr-- // the call precedes its return address
		}
		frames = append(frames, t.at(p, pid, addr)...)
	}
	return frames
}

// at returns the functions at an address.
func (t *Table) at(p *process, pid int32, addr uint64) []Frame {
	if frames, ok := p.frames[addr]; ok {
		return frames
	}
	m := p.find(addr)
	if m == nil && !p.given && t.now().Sub(p.read) > refresh {
		t.readMappings(p, pid)
		m = p.find(addr)
	}
	var frames []Frame
	object, known := "", false
	if m != nil {
		object = m.Path
		if x := t.executable(p, pid, m); x != nil {
			if a, ok := x.address(addr - m.Start + m.Offset); ok {
				frames, known = x.appendFrames(nil, a)
			}
		}
	}
	if !known {
		frames = []Frame{{}}
	}
	for i := range frames {
		frames[i].Addr, frames[i].Object = addr, object
	}
	if m != nil { // else code may be loaded there later
		t.keepFrames(p, addr, frames)
	}
	return frames
}

// keepFrames keeps the frames at an address. Names are up to maxText bytes long, and many calls may be inlined.
func (t *Table) keepFrames(p *process, addr uint64, frames []Frame) {
	const entry, frame = 64, 96 // bytes without names, about
	size := entry
	for _, f := range frames {
		size += frame + len(f.Func) + len(f.File)
	}
	if t.frameBytes+size > maxFrameBytes {
		for _, p := range t.processes {
			t.dropFrames(p)
		}
	}
	p.frames[addr] = frames
	p.bytes += size
	t.frameBytes += size
}

func (t *Table) dropFrames(p *process) {
	if p.bytes > 0 {
		t.frameBytes -= p.bytes
		p.frames, p.bytes = map[uint64][]Frame{}, 0
	}
}

func (p *process) find(addr uint64) *Mapping {
	i := sort.Search(len(p.mappings), func(i int) bool { return p.mappings[i].End > addr })
	if i == len(p.mappings) || addr < p.mappings[i].Start {
		return nil
	}
	return &p.mappings[i]
}

// process returns a process, and reads its mappings if it is new.
func (t *Table) process(pid int32) *process {
	t.uses++
	p := t.processes[pid]
	if p == nil {
		p = t.add(pid)
		t.readMappings(p, pid)
	}
	p.used = t.uses
	return p
}

func (t *Table) add(pid int32) *process {
	t.Forget(pid)
	if len(t.processes) >= maxProcesses {
		t.dropFrames(evict(t.processes, func(p *process) uint64 { return p.used }))
	}
	p := &process{objects: map[string]identity{}, frames: map[uint64][]Frame{}}
	t.processes[pid] = p
	return p
}

// evict removes and returns the least recently used entry.
func evict[K comparable, V any](m map[K]V, used func(V) uint64) (removed V) {
	var oldest K
	least := ^uint64(0)
	for k, v := range m {
		if u := used(v); u < least {
			oldest, least = k, u
		}
	}
	removed = m[oldest]
	delete(m, oldest)
	return removed
}

// readMappings reads the mappings of a process, and the first mapped file, which is its program. A process that has
// ended has none.
func (t *Table) readMappings(p *process, pid int32) {
	p.read = t.now()
	f, err := os.Open(t.dir(pid) + "/maps")
	if err != nil {
		return // what is known of it stays
	}
	defer f.Close()
	if mappings := parseMaps(f); len(mappings) > 0 { // else it has ended since
		p.mappings = mappings
		t.executable(p, pid, &p.mappings[0])
	}
}

func (t *Table) dir(pid int32) string { return fmt.Sprintf("%s/%d", t.proc, pid) }

// executable returns the tables of a mapping's file, or nil if it cannot be read.
func (t *Table) executable(p *process, pid int32, m *Mapping) *executable {
	if !m.isFile() {
		return nil
	}
	id, known := p.objects[m.Path]
	x := t.executables[id]
	if x == nil && (!known || id != identity{}) {
		x, id = t.openExecutable(p, pid, m)
		p.objects[m.Path] = id
	}
	if x != nil {
		x.used = t.uses
	}
	return x
}

// openExecutable opens and reads a mapping's file, unless its tables are cached.
func (t *Table) openExecutable(p *process, pid int32, m *Mapping) (*executable, identity) {
	f, id, err := t.open(p, pid, m)
	if err != nil {
		return nil, identity{}
	}
	defer f.Close()
	x := t.executables[id]
	if x == nil {
		if x, err = readExecutable(f); err != nil {
			return nil, identity{}
		}
		t.bytes += x.bytes
		for len(t.executables) > 0 && (len(t.executables) >= maxExecutables || t.bytes > maxBytes) {
			t.bytes -= evict(t.executables, func(x *executable) uint64 { return x.used }).bytes
		}
		t.executables[id] = x
	}
	return x, id
}

func (t *Table) open(p *process, pid int32, m *Mapping) (*os.File, identity, error) {
	if !p.given {
		return open(t.dir(pid), m)
	}
	f, id, err := regular(os.OpenFile(m.Path, os.O_RDONLY|nonBlocking, 0))
	if err == nil && m.Inode != 0 && id.inode != 0 && id.inode != m.Inode {
		err = errors.Join(errors.New("the file was replaced after the recording"), f.Close())
	}
	return f, id, err
}
