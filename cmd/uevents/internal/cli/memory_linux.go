//go:build !386 && !arm && !mips && !mipsle

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/userevents/userevents-go/cmd/uevents/internal/workload"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

// memoryPrograms lists the programs that offer events in shared memory, of those that this user may look into. refused are, joined,
// those whose events cannot be used, and that there are others; nil if there are none.
func memoryPrograms() (list []memoryProgram, refused, err error) {
	candidates, err := attach.Find()
	if err != nil {
		return nil, nil, err
	}
	others := 0
	var unusable []error
	kernel := uevents.Probe(kernelOnly).Err
	for _, locks := range attach.ByProcess(candidates) {
		p, c, err := attach.OpenLocked(locks)
		if err != nil {
			switch pid := locks[0].PID; {
			case attach.IsRefused(err):
				others++
			case errors.Is(err, attach.ErrUnusable):
				name, _ := workload.ProgramOf(filepath.Join("/proc", strconv.Itoa(int(pid))))
				unusable = append(unusable, fmt.Errorf("process %d (%s): %w", pid, text.Printable(name), err))
			}
			continue // or it has locked another file, or has ended meanwhile
		}
		events, _ := p.Events(0)
		enabled := p.Enabled()
		_ = p.Close() // of memory that was only read
		dir := filepath.Join("/proc", strconv.Itoa(int(c.PID)))
		name, _ := workload.ProgramOf(dir) // or that of the process
		program := memoryProgram{PID: c.PID, Program: name, UID: uidOf(dir), Reason: reasonOf(dir, kernel)}
		for _, ev := range events {
			if ev.Held {
				program.events = append(program.events, memoryEvent{ev.Declaration, enabled[ev.ID]})
			}
		}
		list = append(list, program)
	}
	if others > 0 {
		unusable = append(unusable, attach.Refused(others))
	}
	return list, errors.Join(unusable...), nil
}

// isUnusable reports whether an error is that of a program whose events cannot be used.
func isUnusable(err error) bool { return errors.Is(err, attach.ErrUnusable) }

func uidOf(dir string) uint32 {
	st, err := os.Stat(dir)
	if err != nil {
		return 0 // it has ended
	}
	return st.Sys().(*syscall.Stat_t).Uid
}

// reasonOf returns why a process uses shared memory, as far as can be told from outside. kernel is why this one cannot use the
// kernel's user_events.
func reasonOf(dir string, kernel error) string {
	asked := uevents.EnvTransport + "=" + uevents.TransportMemory.String()
	if inherits(dir, asked) {
		return asked
	}
	if errors.Is(kernel, uevents.ErrNotSupported) {
		return "the kernel has no user_events"
	}
	// The file is where the process sees it.
	file := filepath.Join(dir, "root", cmp.Or(uevents.Probe(kernelOnly).DataFile, filepath.Join(tracefs.DefaultDir, tracefs.DataFile)))
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it sees no tracefs with user_events"
	case err != nil || uidOf(dir) != 0 && st.Mode().Perm()&0o022 == 0:
		return "it may not write " + tracefs.DataFile
	}
	return "it asked for memory, or may not write " + tracefs.DataFile
}
