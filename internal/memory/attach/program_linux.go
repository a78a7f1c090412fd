// Package attach is a tool's half of the events that a program offers in shared memory: it finds the memory, asks for events, and
// reads records. It believes nothing that a program writes there.
package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/tracepoint"
)

// Program is the memory of another process.
type Program struct {
	pid               int
	dataFD, controlFD int
	bytes, writable   []byte
	data              *layout.Data
	control           *layout.Control
	areas             [layout.Sessions][]byte // rings of the sessions of this Program
	inode             uint64                  // of the data
	ahead             int64                   // nanoseconds of its CLOCK_MONOTONIC before that of the machine
	named             bool                    // the files have names, and no seals
	cut               bool                    // one of them was cut off
	taken             uint32                  // bits of the sessions of this Program, whose locks do not exclude itself
}

// ErrNoMemory says that a process offers no events in memory.
var ErrNoMemory = errors.New("the process offers no events in shared memory")

// ErrUnusable says that no tool can use the events that a process offers in memory, and wraps the reason.
var ErrUnusable = errors.New("its events in shared memory cannot be used")

// Open opens the memory of a process. The kernel decides whether this one may: it has to be allowed to read the other.
func Open(pid int) (*Program, error) {
	p, _, err := open(pid)
	return p, err
}

// open also returns how many files the process has open.
func open(pid int) (_ *Program, files int, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, refused(pid, err)
	}
	p := &Program{pid: pid, dataFD: -1, controlFD: -1}
	var data string
	var controls []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		target, err := os.Readlink(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, len(entries), refused(pid, err)
		}
		name, named := nameOf(target)
		switch name {
		case layout.DataName:
			// Tools have opened those of their programs for reading only.
			if info, err := os.Lstat(path); err == nil && info.Mode().Perm()&0o200 != 0 && data == "" {
				data, p.named = path, named
			}
		case layout.ControlName:
			controls = append(controls, path)
		}
	}
	if data == "" {
		return nil, len(entries), ErrNoMemory
	}
	err = errCutOff
	p.guard(func() { err = errors.Join(p.openData(data), p.openControl(controls)) })
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // else it has ended
			err = fmt.Errorf("%w: %w", ErrUnusable, err)
		}
		return nil, len(entries), errors.Join(err, p.Close())
	}
	p.ahead = sys.MonotonicOffset(filepath.Dir(dir))
	return p, len(entries), nil
}

// nameOf returns what a link refers to: memory, or a file in a directory, whose name has a suffix.
func nameOf(target string) (name string, named bool) {
	target = strings.TrimSuffix(target, " (deleted)")
	if name, ok := strings.CutPrefix(target, "/memfd:"); ok {
		return name, false
	}
	for _, name := range []string{layout.DataName, layout.ControlName} {
		if strings.HasPrefix(filepath.Base(target), name+"-") {
			return name, true
		}
	}
	return "", false
}

func (p *Program) openData(path string) (err error) {
	var seals sys.Seals
	if p.dataFD, seals, err = sys.OpenMemory(path, false, p.named); err != nil {
		return err
	}
	p.inode = seals.Inode
	if err := errors.Join(p.verify(seals, layout.FileSize, true), owned(p.pid, strconv.FormatUint(uint64(seals.UID), 10))); err != nil {
		return fmt.Errorf("%s: %w", layout.DataName, err)
	}
	if p.bytes, err = sys.MapPart(p.dataFD, 0, layout.DataSize, false); err != nil {
		return err
	}
	data := layout.DataAt(p.bytes)
	if version := data.Version; string(data.Magic[:]) != layout.Magic || version != layout.Version {
		newer := ""
		if version > layout.Version {
			newer = ": use a newer version of this tool"
		}
		return fmt.Errorf("%s has version %d, this tool knows %d%s", layout.DataName, version, layout.Version, newer)
	}
	p.data = data
	return nil
}

// openControl opens that one of the files which belongs to the data. Those that cannot be opened may be of other programs, of which the
// process is a tool.
func (p *Program) openControl(paths []string) error {
	if p.data == nil {
		return nil // openData has said why
	}
	var errs []error
	for _, path := range paths {
		fd, seals, err := sys.OpenMemory(path, true, p.named)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w: any program of its user can take the permissions away", layout.ControlName, err))
			continue
		}
		if seals.Inode != p.data.Control {
			_ = sys.Close(fd)
			continue
		}
		p.controlFD = fd
		if err := p.verify(seals, layout.ControlSize, false); err != nil {
			return fmt.Errorf("%s: %w", layout.ControlName, err)
		}
		if p.writable, err = sys.MapWritable(p.controlFD, layout.ControlSize); err != nil {
			return err
		}
		p.control = layout.ControlAt(p.writable)
		return nil
	}
	if len(errs) == 0 {
		return fmt.Errorf("%s: the process has none that belongs to the data", layout.ControlName)
	}
	return errors.Join(errs...)
}

// verify checks what the kernel knows about a file, so that reading it does not fault.
func (p *Program) verify(s sys.Seals, size int, readOnly bool) error {
	switch {
	case !p.named && (!s.Fixed || readOnly && !s.ReadOnly):
		return errors.New("its seals are missing")
	case s.Size != int64(size):
		return fmt.Errorf("it has %d bytes, not %d", s.Size, size)
	}
	return nil
}

// Close releases the memory. Sessions have to be detached before.
func (p *Program) Close() (err error) {
	for _, m := range p.mappings() {
		err = errors.Join(err, sys.UnmapBytes(m))
	}
	for _, fd := range []int{p.dataFD, p.controlFD} {
		if fd >= 0 {
			err = errors.Join(err, sys.Close(fd))
		}
	}
	p.areas, p.bytes, p.writable, p.dataFD, p.controlFD = [layout.Sessions][]byte{}, nil, nil, -1, -1
	return err
}

// Named reports whether the memory consists of files in a directory, which nothing keeps from being cut off.
func (p *Program) Named() bool { return p.named }

// Processors is how many processors the program uses, as it says.
func (p *Program) Processors() int { return int(p.data.Processors) }

// Event is an event as the program describes it.
type Event struct {
	PID         int32
	Memory      uint64 // inode number of the data: another one after exec
	ID          uint32
	Declaration tracepoint.Declaration
	Held        bool // false when it was closed
	Wanted      bool // by a tool
}

// Events lists the events of the program from a number on, and returns the number to go on from. It leaves those out whose
// declarations are not valid.
func (p *Program) Events(from uint32) (list []Event, next uint32) {
	next = from
	p.guard(func() { list, next = p.events(from) })
	return list, next
}

func (p *Program) events(from uint32) (list []Event, next uint32) {
	next = max(from, min(p.data.Count.Load(), layout.Events))
	for id := from; id < next; id++ {
		entry := &p.data.Registry[id]
		offset, length := uint64(entry.Offset), uint64(entry.Length)
		if length > tracepoint.MaxCommand || offset+length > layout.Text {
			continue
		}
		d, err := tracepoint.Parse(string(p.data.Text[offset:][:length]))
		if err == nil {
			list = append(list, Event{int32(p.pid), p.inode, id, d, entry.Held.Load() != 0, p.wanted(id)})
		}
	}
	return list, next
}

// Enabled returns the numbers of the events that are enabled: all their enable bits are set. A tool requests an event before.
func (p *Program) Enabled() map[uint32]bool {
	enabled := map[uint32]bool{}
	p.guard(func() {
		for w := range min(p.data.InUse.Load(), layout.Words) {
			for b := range p.data.Gates[w] {
				if id := p.data.Gates[w][b].Load() - 1; id < layout.Events {
					others, again := enabled[id]
					enabled[id] = p.control.Words[w].Load()&(1<<b) != 0 && (others || !again)
				}
			}
		}
	})
	return enabled
}

// errCutOff says that the program's files are not what they were: it can change their size at any time.
var errCutOff = errors.New("a file of the process was cut off")

// guard calls a function that uses the memory. If this consists of files, and one was cut off, zeros take its place: the program has
// lost what was in it, and the tool goes on.
func (p *Program) guard(call func()) {
	if !p.named {
		call()
	} else if cause := sys.Try(call); cause != nil {
		p.abandon(cause)
	}
}

func (p *Program) abandon(cause sys.Fault) {
	p.cut = true
	known := false
	for _, m := range p.mappings() {
		known = known || sys.In(m, cause.Addr())
		if err := sys.ZeroBytes(m); err != nil {
			panic(err)
		}
	}
	if !known {
		panic(cause)
	}
}

func (p *Program) mappings() (list [][]byte) {
	for _, m := range append(p.areas[:], p.bytes, p.writable) {
		if m != nil {
			list = append(list, m)
		}
	}
	return list
}
