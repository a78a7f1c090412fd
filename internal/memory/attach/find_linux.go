package attach

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Candidate is a process that may offer events: it has locked a file.
type Candidate struct {
	PID  int32
	File string // device and inode of the file: it changes when the process has closed all events and registers new ones
}

// Find lists the candidates: a program holds a lock of its data file as long as it has it, and the kernel lists the locks of all
// processes that this one can see. That takes no time for processes that have none.
// If others lock and unlock files meanwhile, one can be missing: the kernel goes on by number after each page.
func Find() ([]Candidate, error) {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil, fmt.Errorf("finding programs: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(bufio.NewReaderSize(f, 64<<10)) // as few calls as can be
	if err != nil {
		return nil, fmt.Errorf("finding programs: %w", err)
	}
	return candidates(string(text)), nil
}

// locked reports whether the program is known to have its lock still.
func (p *Program) locked() bool {
	text, err := os.ReadFile(p.info)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if lock, ok := strings.CutPrefix(line, "lock:"); ok && slices.ContainsFunc(candidates(lock), func(c Candidate) bool { return c.of(p) || p.named }) {
			return true
		}
	}
	return false
}

// Open opens the memory of a candidate, if that is the file which it has locked: the process may have locked others, too.
func (c Candidate) Open() (*Program, error) {
	p, err := Open(int(c.PID))
	// Of a file with a name, some file systems tell another inode.
	if err == nil && !p.named && !c.of(p) {
		return nil, errors.Join(ErrNoMemory, p.Close())
	}
	return p, err
}

// of reports whether a candidate is the lock of a program's data.
func (c Candidate) of(p *Program) bool {
	return int(c.PID) == p.pid && strings.HasSuffix(c.File, ":"+strconv.FormatUint(p.inode, 10))
}

// candidates reads lines like "1: FLOCK  ADVISORY  WRITE 812 00:01:2067 0 EOF"; a lock that is waited for has an arrow. Other
// tools, and programs in general, lock files too.
func candidates(text string) (list []Candidate) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		if pid, err := strconv.ParseInt(f[4], 10, 32); err == nil && pid > 0 {
			list = append(list, Candidate{int32(pid), f[5]})
		}
	}
	return list
}
