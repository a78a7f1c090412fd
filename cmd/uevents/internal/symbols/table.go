package symbols

import (
	"errors"
	"os"
	"time"
)

// Limits of a table's caches.
const (
	maxExecutables = 64
	maxBytes       = 256 << 20 // of the tables of executables; one of them may have more
)

// refresh is the minimum interval for reading a process's mappings again after an unknown address.
const refresh = time.Second

// Table finds the functions of processes. It caches files and mappings, within limits, even after processes have ended.
// It must not be used concurrently.
type Table struct {
	proc        string // "" in a table of a recording
	processes   map[int32]*process
	executables map[identity]*executable
	bytes       int // of executables
	frameBytes  int
	mapped      int // bytes of mappings
	now         func() time.Time
	uses        uint64 // sequence number of uses of processes and executables
	stack       []Frame
}

// New returns a table for the processes of this machine.
func New() *Table { return newTable("/proc") }

// NewRecorded returns a table for the processes of a recording. It has the mappings that Map and Inherit add, and never
// reads /proc, where other processes have the same numbers.
func NewRecorded() *Table { return newTable("") }

func newTable(proc string) *Table {
	return &Table{proc: proc, processes: map[int32]*process{}, executables: map[identity]*executable{}, now: time.Now}
}

// recorded reports whether the table is for the processes of a recording.
func (t *Table) recorded() bool { return t.proc == "" }

// Mappings returns the executable mappings of a process. The caller must not change them.
func (t *Table) Mappings(pid int32) []Mapping { return t.process(pid).mappings }

// appendFrames appends the functions on a stack, innermost first. stack has the address of an instruction and the
// return addresses of its callers, like [perf.Record.Callchain]. For an unknown address, the frame has no Func.
//
// [perf.Record.Callchain]: https://pkg.go.dev/github.com/userevents/userevents-go/internal/perf#Record
func (t *Table) appendFrames(frames []Frame, pid int32, stack []uint64) []Frame {
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
	if m == nil && !t.recorded() && t.now().Sub(p.read) > refresh {
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

// executable returns the tables of a mapping's file, or nil if it cannot be read.
func (t *Table) executable(p *process, pid int32, m *Mapping) *executable {
	if !m.isFile() {
		return nil
	}
	id, known := p.objects[m.Path]
	x := t.executables[id]
	if x == nil && (!known || id != identity{}) {
		x, id = t.openExecutable(pid, m)
		p.objects[m.Path] = id
	}
	if x != nil {
		x.used = t.uses
	}
	return x
}

// openExecutable opens and reads a mapping's file, unless its tables are cached.
func (t *Table) openExecutable(pid int32, m *Mapping) (*executable, identity) {
	f, id, err := t.open(pid, m)
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
			t.evict()
		}
		t.executables[id] = x
	}
	return x, id
}

// evict removes the least recently used executable.
func (t *Table) evict() {
	var oldest identity
	least := ^uint64(0)
	for id, x := range t.executables {
		if x.used < least {
			oldest, least = id, x.used
		}
	}
	t.bytes -= t.executables[oldest].bytes
	delete(t.executables, oldest)
}

func (t *Table) open(pid int32, m *Mapping) (*os.File, identity, error) {
	if !t.recorded() {
		return open(t.dir(pid), m)
	}
	f, id, err := openRegular(os.OpenFile, m.Path)
	if err == nil && m.Inode != 0 && id.inode != 0 && id.inode != m.Inode {
		err = errors.Join(errors.New("the file was replaced after the recording"), f.Close())
	}
	return f, id, err
}
