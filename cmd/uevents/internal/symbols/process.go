package symbols

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/userevents/userevents-go/record"
)

// Limits of a table's processes.
const (
	maxProcesses  = 256
	maxRecorded   = 1 << 15   // processes of a recording, whose mappings cannot be read again
	maxMapped     = 128 << 20 // bytes of the mappings of all processes
	maxFrameBytes = 64 << 20  // of the frames of all processes
)

type process struct {
	mappings []Mapping
	objects  map[string]identity // of files, by path; the zero value if a file cannot be read
	frames   map[uint64][]Frame  // by address of an instruction
	bytes    int                 // of frames
	mapped   int                 // bytes of mappings
	owner    *record.Process     // of the last event; after an exec it is another one
	read     time.Time           // time of the last read of the mappings
	used     uint64
}

// Forget drops what is known of a process: it runs another program, or a new process has its number. Notice does so
// for processes that have events.
func (t *Table) Forget(pid int32) {
	if p := t.processes[pid]; p != nil {
		t.dropFrames(p)
		t.mapped -= p.mapped
		delete(t.processes, pid)
	}
}

// Map adds a mapping of a process to a table of a recording. Its file is read at its path, unless another file is there
// now.
func (t *Table) Map(pid int32, m Mapping) {
	p := t.processes[pid]
	if p == nil {
		p = t.add(pid)
	}
	i, found := slices.BinarySearchFunc(p.mappings, m.Start, func(have Mapping, start uint64) int {
		return cmp.Compare(have.Start, start)
	})
	switch {
	case found:
		delete(p.objects, p.mappings[i].Path)
		t.count(p, m.size()-p.mappings[i].size())
		p.mappings[i] = m
	case len(p.mappings) < maxMappings:
		p.mappings = slices.Insert(p.mappings, i, m)
		t.count(p, m.size())
	}
	t.dropFrames(p)
	t.use(p)
	t.shrink()
}

// Inherit adds a process that its parent forked: the child has the mappings that Map added to the parent so far, and none
// if the parent is unknown. It replaces an earlier process of the same number.
func (t *Table) Inherit(child, parent int32) {
	from := t.processes[parent]
	if child == parent {
		return
	}
	t.Forget(child)
	if from == nil {
		return
	}
	t.use(from)
	p := t.add(child)
	p.mappings = slices.Clone(from.mappings)
	t.count(p, from.mapped)
	t.shrink()
}

// process returns a process, and reads its mappings if it is new.
func (t *Table) process(pid int32) *process {
	p := t.processes[pid]
	if p == nil {
		p = t.add(pid)
		if !t.recorded() {
			t.readMappings(p, pid)
		}
	}
	t.use(p)
	t.shrink()
	return p
}

func (t *Table) use(p *process) {
	t.uses++
	p.used = t.uses
}

func (t *Table) add(pid int32) *process {
	p := &process{objects: map[string]identity{}, frames: map[uint64][]Frame{}}
	t.processes[pid] = p
	t.use(p)
	t.shrink()
	return p
}

// count adds to the memory that the mappings of a process take.
func (t *Table) count(p *process, bytes int) {
	p.mapped += bytes
	t.mapped += bytes
}

// shrink removes the least recently used processes, an eighth of them at once, until the rest is within the limits. The most
// recently used one stays.
func (t *Table) shrink() {
	most := maxProcesses
	if t.recorded() {
		most = maxRecorded
	}
	for len(t.processes) > most || t.mapped > maxMapped && len(t.processes) > 1 {
		uses := make([]uint64, 0, len(t.processes))
		for _, p := range t.processes {
			uses = append(uses, p.used)
		}
		slices.Sort(uses)
		until := uses[(len(uses)-1)/8]
		for pid, p := range t.processes {
			if p.used <= until {
				t.Forget(pid)
			}
		}
	}
}

func (p *process) find(addr uint64) *Mapping {
	i := sort.Search(len(p.mappings), func(i int) bool { return p.mappings[i].End > addr })
	if i == len(p.mappings) || addr < p.mappings[i].Start {
		return nil
	}
	return &p.mappings[i]
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

// readMappings reads the mappings of a process, and the first mapped file, which is its program. A process that has
// ended has none.
func (t *Table) readMappings(p *process, pid int32) {
	p.read = t.now()
	f, err := os.Open(t.dir(pid) + "/maps")
	if err != nil {
		return // the cached mappings remain
	}
	defer f.Close()
	if mappings := parseMaps(f); len(mappings) > 0 { // else it has ended since
		size := 0
		for i := range mappings {
			size += mappings[i].size()
		}
		t.count(p, size-p.mapped)
		p.mappings = mappings
		clear(p.objects)
		t.executable(p, pid, &p.mappings[0])
	}
}

func (t *Table) dir(pid int32) string { return fmt.Sprintf("%s/%d", t.proc, pid) }
