// Package symbols turns the return addresses of a process's user stack into functions, files and lines. It reads
// /proc/PID/maps and the mapped files, and needs no cooperation of the process.
//
// Go programs keep a table of functions even when they are stripped; inlined calls are frames of their own. That is for Go 1.20
// and later. Functions of C come from the symbol tables of the ELF files. Deleted files and files of other mount
// namespaces are read through /proc/PID/exe, map_files and root.
package symbols

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/sys"
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

func (t *Table) evict() {
	oldest := slices.MinFunc(slices.Collect(maps.Keys(t.executables)), func(a, b identity) int {
		return cmp.Compare(t.executables[a].used, t.executables[b].used)
	})
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

type identity struct {
	device, inode  uint64
	path           string // on systems without inodes
	size, modified int64
}

// open opens the file of a mapping. process is the directory of the process in /proc. open tries the process's own
// files first: a path is not reliable if the process is in another mount namespace, or if its program was replaced.
func open(process string, m *Mapping) (*os.File, identity, error) {
	exe, err := sys.Executable(process)
	if err == nil && exe == m.Path {
		if f, id, err := openRegular(os.OpenFile, process+"/exe"); err == nil && id.inode == m.Inode {
			return f, id, nil
		} else if err == nil {
			_ = f.Close() // read only
		}
	}
	link := fmt.Sprintf("%s/map_files/%x-%x", process, m.Start, m.End)
	f, id, err := openRegular(os.OpenFile, link)
	if err == nil || m.Deleted {
		return f, id, err
	}
	// The path has no symbolic links. os.Root keeps links that were added later within the process's root.
	root, err := os.OpenRoot(process + "/root")
	if err != nil {
		return nil, id, err
	}
	f, id, err = openRegular(root.OpenFile, strings.TrimPrefix(m.Path, "/"))
	err = errors.Join(err, root.Close())
	// The device is not compared: with overlayfs, maps and stat have different devices.
	if err == nil && id.inode != m.Inode {
		err = errors.Join(errors.New("the file was replaced while the process runs"), f.Close())
	}
	return f, id, err
}

var errNotRegular = errors.New("no regular file with content")

// identified returns a file that was just opened with its identity, or closes it if that is an error.
func identified(f *os.File, err error) (*os.File, identity, error) {
	if err != nil {
		return nil, identity{}, err
	}
	id, err := identify(f)
	if err != nil {
		return nil, id, errors.Join(err, f.Close())
	}
	return f, id, nil
}

// identify returns the identity of a file, an error if it is no regular one. Files that the kernel makes up when they
// are read have no size.
func identify(f *os.File) (identity, error) {
	st, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	if !st.Mode().IsRegular() || st.Size() == 0 {
		return identity{}, errNotRegular
	}
	id := identity{size: st.Size(), modified: st.ModTime().UnixNano()}
	id.device, id.inode = inodeOf(st)
	if id.inode == 0 {
		id.path = f.Name()
	}
	return id, nil
}
