package attach

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/sys"
)

// Candidate is a process that may offer events: it has locked a file.
type Candidate struct {
	PID  int32
	File string // device and inode of the file: it changes when the process has closed all events and registers new ones
}

// Find lists the candidates: a program holds a lock of its data file as long as it has it, and the kernel lists the locks of all
// processes that this one can see. That takes no time for processes that have none.
func Find() ([]Candidate, error) {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, fmt.Errorf("finding programs: %w", err)
	}
	return candidates(string(text)), nil
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

// lives reports whether the program still has its memory. The kernel makes the list of locks in parts, and locks that others release meanwhile
// make it skip some.
func (p *Program) lives() bool {
	_, err := os.Lstat("/proc/" + strconv.Itoa(p.pid))
	return err == nil && sys.Locked(p.dataFD)
}
