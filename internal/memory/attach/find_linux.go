package attach

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
)

// Candidate is a process that may offer events: it has locked a file.
type Candidate struct {
	PID  int32
	File string // device and inode of the file: it changes when the process has closed all events and registers new ones
}

// Find lists the candidates: a program holds a lock of its data file as long as it has it, and the kernel lists the locks of all
// processes that this one can see. That takes no time for processes that have none.
//
// The kernel lists the locks in parts of a read each, up to a page. Locks that go between two parts make it skip others. So a list of
// several parts is read again until nothing has changed, or some times, each of which finds nearly all.
func Find() ([]Candidate, error) {
	list, err := find(func() (io.ReadCloser, error) { return os.Open("/proc/locks") })
	if err != nil {
		return nil, fmt.Errorf("finding programs: %w", err)
	}
	return list, nil
}

func find(open func() (io.ReadCloser, error)) (list []Candidate, err error) {
	var last string
	for range mostLists {
		text, parts, err := readLocks(open)
		if err != nil {
			return nil, err
		}
		if text == last {
			break
		}
		list = append(list, candidates(text)...)
		if last = text; parts == 1 {
			break
		}
	}
	slices.SortFunc(list, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.File, b.File)) })
	return slices.Compact(list), nil
}

// mostLists is how often the list of locks is read while it changes.
const mostLists = 8

// readLocks also returns in how many parts the kernel has listed the locks.
func readLocks(open func() (io.ReadCloser, error)) (text string, parts int, err error) {
	f, err := open()
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	var b strings.Builder
	part := make([]byte, os.Getpagesize())
	for {
		n, err := f.Read(part)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return b.String(), max(parts, 1), err
		}
		b.Write(part[:n])
		parts++
	}
}

// ByProcess divides candidates by process.
func ByProcess(list []Candidate) (processes [][]Candidate) {
	at := map[int32]int{}
	for _, c := range list {
		i, there := at[c.PID]
		if !there {
			i = len(processes)
			at[c.PID], processes = i, append(processes, nil)
		}
		processes[i] = append(processes[i], c)
	}
	return processes
}

// OpenLocked opens the memory of a process that has locked files, if one of them is its data, and returns that one. Of a file with a
// name, of which some file systems tell another inode number, it can be another.
func OpenLocked(locks []Candidate) (*Program, Candidate, error) {
	p, c, _, err := openLocked(locks, open)
	return p, c, err
}

func openLocked(locks []Candidate, open func(pid int) (*Program, int, error)) (p *Program, c Candidate, files int, err error) {
	p, files, err = open(int(locks[0].PID))
	if err != nil {
		return nil, locks[0], files, err
	}
	for _, c := range locks {
		if c.of(p) {
			return p, c, files, nil
		}
	}
	if !p.named {
		return nil, locks[0], files, errors.Join(ErrNoMemory, p.Close())
	}
	return p, locks[0], files, nil
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

// tools returns the processes that have locked sessions of the program, of those that this one may look into. /proc/locks has no process
// for such locks, but each process lists those of its files. That looks at all files of the machine.
func (p *Program) tools() (list []string) {
	control, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", p.controlFD))
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is right
	for _, file := range files {
		target, _ := os.Readlink(file)
		if name, _ := nameOf(target); name != layout.ControlName {
			continue
		}
		process := filepath.Dir(filepath.Dir(file))
		locks, _ := os.ReadFile(filepath.Join(process, "fdinfo", filepath.Base(file)))
		if info, err := os.Stat(file); err != nil || !os.SameFile(info, control) || !strings.Contains(string(locks), "\nlock:") {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join(process, "comm"))
		list = append(list, fmt.Sprintf("process %s (%s)", filepath.Base(process), strings.TrimSuffix(string(comm), "\n")))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// IsRefused reports whether an error is that of a process that this tool may not look into, so that it is not known to offer events.
func IsRefused(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !errors.Is(err, ErrUnusable)
}

// refused adds to an error of the kernel what this tool lacks.
func refused(pid int, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, lacks(pid))
}

// lacks follows the kernel's rule for reading another process; see ptrace(2), "Ptrace access mode checking".
func lacks(pid int) string {
	const instead = "or give it CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
	program, tool := readStatus(strconv.Itoa(pid)), readStatus("self")
	switch {
	case tool.capabilities&(1<<sys.CapSysPtrace) != 0:
		return "this tool has CAP_SYS_PTRACE: it lacks it in the user namespace of the process, or CAP_DAC_READ_SEARCH for the directory of uid " +
			program.uid + ", or a security module refuses"
	case program.uid != tool.uid:
		return fmt.Sprintf("the process has uid %s, and this tool %s: run it as that user, %s", program.uid, tool.uid, instead)
	case program.capabilities&^tool.capabilities != 0:
		return fmt.Sprintf("the process has capabilities %#x, which this tool lacks: give it these, %s", program.capabilities&^tool.capabilities, instead)
	default:
		return "the process is not dumpable, is in another user namespace, or a security module refuses: run the tool as root with CAP_SYS_PTRACE"
	}
}

// Missing returns which capabilities this tool lacks to look into the processes of all users.
func Missing() (names []string) {
	for _, c := range []struct {
		name   string
		number int
	}{{"CAP_SYS_PTRACE", sys.CapSysPtrace}, {"CAP_DAC_READ_SEARCH", sys.CapDacReadSearch}} {
		if has, err := sys.HasCapability(c.number); err == nil && !has {
			names = append(names, c.name)
		}
	}
	return names
}

// Refused is the error of processes that this tool may not look into. It cannot know whether these offer events.
func Refused(processes int) error {
	lacks, what := strings.Join(Missing(), " and "), "processes"
	if lacks == "" {
		lacks = "CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH in the user namespace of the process"
	}
	if processes == 1 {
		what = "process"
	}
	return fmt.Errorf("%w to look into %d %s, which may offer events in shared memory: this tool lacks %s", fs.ErrPermission, processes, what, lacks)
}

// owned returns an error if the files of a process belong neither to its user, effective or saved, nor to the root of its user namespace,
// who a program was before it changed its user: a user can pass files to a program with a set-user-ID bit, whose saved user is another,
// and write records that seem to be those of that one.
func owned(pid int, owner string) error {
	status := readStatus(strconv.Itoa(pid))
	if owner == status.effective || owner == status.saved || owner == rootOf(filepath.Join("/proc", strconv.Itoa(pid))) {
		return nil
	}
	return fmt.Errorf("its owner is uid %s, and the process has uid %s: another user may have passed it to the process", owner, status.effective)
}

// rootOf returns the user who is root in the user namespace of a process, "" if none is: user_namespaces(7).
func rootOf(process string) string {
	if sys.SameNamespace(process, "user") {
		return "0"
	}
	text, _ := os.ReadFile(process + "/uid_map")
	for line := range strings.Lines(string(text)) {
		if ids := strings.Fields(line); len(ids) == 3 && ids[0] == "0" {
			return ids[1]
		}
	}
	return ""
}

// status is a part of /proc/PID/status, which all users may read.
type status struct {
	uid, effective, saved string // the real, the effective and the saved user id
	capabilities          uint64 // permitted
}

func readStatus(pid string) (s status) {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch fields := strings.Fields(value); {
		case name == "Uid" && len(fields) > 2:
			s.uid, s.effective, s.saved = fields[0], fields[1], fields[2]
		case name == "CapPrm" && len(fields) > 0:
			s.capabilities, _ = strconv.ParseUint(fields[0], 16, 64)
		}
	}
	return s
}
