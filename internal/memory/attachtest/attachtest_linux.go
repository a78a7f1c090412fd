//go:build !386 && !arm && !mips && !mipsle

// Package attachtest returns the state of the tools that are attached to a program in shared memory, as the memory has it. A tool
// reports that it has attached before all events are enabled, and an event can be enabled because of another tool of the machine.
package attachtest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
)

// Session is a session of a tool.
type Session struct {
	Number     int
	Generation uint64          // changes when another tool gets the session, or the same one attaches again
	Events     map[string]bool // registered events that the session requests, and whether they are enabled
}

// State is the state of a program.
type State struct {
	Events   []string // that are registered
	Sessions []Session
}

// Of returns the state of a program with the sessions of a tool. 0 means those of all tools. It returns an error that is fs.ErrNotExist
// if the program has no memory yet.
func Of(program, tool int) (s State, err error) {
	f, err := open(program)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	held, err := f.sessionsOf(tool)
	if err != nil {
		return s, err
	}
	data, control := layout.DataAt(f.data), layout.ControlAt(f.control)
	all := map[string]bool{}
	ofSession := [layout.Sessions]map[string]bool{}
	for i := range ofSession {
		ofSession[i] = map[string]bool{}
	}
	for id := range min(data.Count.Load(), layout.Events) {
		entry := &data.Registry[id]
		if entry.Held.Load() == 0 {
			continue
		}
		d, err := tracepoint.Parse(string(data.Text[entry.Offset:][:entry.Length]))
		if err != nil {
			return s, err
		}
		requests := control.Requests[id].Load() // before the bits, which the tool sets afterwards
		enabled := f.enabled(id)
		all[d.Name] = true
		for i, events := range ofSession {
			if requests&(1<<i) != 0 {
				before, there := events[d.Name]
				events[d.Name] = enabled && (before || !there)
			}
		}
	}
	s.Events = slices.Sorted(maps.Keys(all))
	for i, events := range ofSession {
		if held&(1<<i) != 0 && (tool != 0 || len(events) > 0) {
			s.Sessions = append(s.Sessions, Session{i, control.Sessions[i].Generation.Load(), events})
		}
	}
	return s, nil
}

// Attached reports whether a tool has attached to a program: it has as many sessions as there are functions, and each session has enabled the
// events that one of the functions selects, and requests no other event.
func Attached(tool, program int, selections ...func(event string) bool) bool {
	s, err := Of(program, tool)
	if err != nil || len(s.Events) == 0 || len(s.Sessions) != len(selections) {
		return false
	}
	var got, want []string
	for _, session := range s.Sessions {
		for _, enabled := range session.Events {
			if !enabled {
				return false
			}
		}
		got = append(got, strings.Join(slices.Sorted(maps.Keys(session.Events)), " "))
	}
	for _, selects := range selections {
		list := slices.DeleteFunc(slices.Clone(s.Events), func(event string) bool { return !selects(event) })
		want = append(want, strings.Join(list, " "))
	}
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

// Await waits until [Attached] reports true.
func Await(tb testing.TB, tool, program int, selections ...func(event string) bool) {
	tb.Helper()
	if !testscale.Wait(func() bool { return Attached(tool, program, selections...) }) {
		s, err := Of(program, tool)
		tb.Fatalf("process %d has not attached to process %d: %+v, %v", tool, program, s, err)
	}
}

// All selects all events.
func All(string) bool { return true }

type files struct {
	link          string // to the control file
	data, control []byte
}

func open(program int) (*files, error) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", program))
	if err != nil {
		return nil, err
	}
	f := &files{}
	for _, link := range links {
		// A tool has opened the data files of its programs for reading only.
		if info, err := os.Lstat(link); err == nil && named(link, layout.DataName) && info.Mode().Perm()&0o200 != 0 {
			if f.data, _, err = mapFile(link, layout.DataSize); err != nil {
				return nil, err
			}
			break
		}
	}
	if f.data == nil {
		return nil, fmt.Errorf("process %d: shared memory: %w", program, fs.ErrNotExist)
	}
	for _, link := range links {
		if !named(link, layout.ControlName) {
			continue
		}
		b, inode, err := mapFile(link, layout.ControlSize)
		if err == nil && inode == layout.DataAt(f.data).Control {
			f.control, f.link = b, link
			return f, nil
		}
		if err == nil {
			err = sys.UnmapBytes(b)
		}
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return nil, errors.Join(fmt.Errorf("process %d: control file: %w", program, fs.ErrNotExist), f.close())
}

// named reports whether an open file has the name, in memory or in a directory.
func named(link, name string) bool {
	target, _ := os.Readlink(link)
	return strings.HasPrefix(strings.TrimPrefix(filepath.Base(target), "memfd:"), name)
}

func mapFile(link string, size int) (b []byte, inode uint64, err error) {
	fd, seals, err := sys.OpenMemory(link, false, true)
	if err != nil {
		return nil, 0, err
	}
	b, err = sys.MapPart(fd, 0, size, false)
	return b, seals.Inode, errors.Join(err, sys.Close(fd))
}

func (f *files) close() (err error) {
	for _, b := range [][]byte{f.data, f.control} {
		if b != nil {
			err = errors.Join(err, sys.UnmapBytes(b))
		}
	}
	return err
}

// sessionsOf returns a bit for each session that a tool holds: it has locked the byte of the control file with that number.
func (f *files) sessionsOf(tool int) (held uint32, err error) {
	if tool == 0 {
		return layout.AllSessions, nil
	}
	control, err := os.Stat(f.link)
	if err != nil {
		return 0, err
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", tool))
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		if !named(link, layout.ControlName) {
			continue
		}
		if info, err := os.Stat(link); err != nil || !os.SameFile(info, control) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "fdinfo", filepath.Base(link)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			var first, last int // "lock:	1: OFDLCK ADVISORY  WRITE -1 00:01:2067 3 3"
			if fields := strings.Fields(line); len(fields) == 9 && fields[0] == "lock:" {
				if _, err := fmt.Sscan(fields[7]+" "+fields[8], &first, &last); err == nil {
					held |= (2<<last - 1<<first) & layout.AllSessions
				}
			}
		}
	}
	return held, nil
}

// enabled reports whether all enable bits of an event are set. Each registration of the event has one.
func (f *files) enabled(id uint32) bool {
	data, control := layout.DataAt(f.data), layout.ControlAt(f.control)
	bits := 0
	for w := range min(data.InUse.Load(), layout.Words) {
		for b := range data.Gates[w] {
			if data.Gates[w][b].Load() != id+1 {
				continue
			}
			if control.Words[w].Load()&(1<<b) == 0 {
				return false
			}
			bits++
		}
	}
	return bits > 0
}
