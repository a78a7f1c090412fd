package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

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
	case tool.capabilities&capSysPtrace != 0:
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

// Capabilities, include/uapi/linux/capability.h.
const (
	capDacReadSearch = 1 << 2
	capSysPtrace     = 1 << 19
)

// Missing returns which capabilities this tool lacks to look into the processes of all users.
func Missing() []string { return missing(readStatus("self")) }

func missing(tool status) (names []string) {
	for _, c := range []struct {
		name string
		bit  uint64
	}{{"CAP_SYS_PTRACE", capSysPtrace}, {"CAP_DAC_READ_SEARCH", capDacReadSearch}} {
		if tool.uid != "" && tool.effective&c.bit == 0 { // else it is not known
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

// status is a part of /proc/PID/status, which all users may read.
type status struct {
	uid          string
	capabilities uint64 // permitted
	effective    uint64
}

func readStatus(pid string) (s status) {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	return statusOf(string(text))
}

func statusOf(text string) (s status) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch fields := strings.Fields(value); {
		case name == "Uid" && len(fields) > 0:
			s.uid = fields[0]
		case name == "CapPrm" && len(fields) > 0:
			s.capabilities, _ = strconv.ParseUint(fields[0], 16, 64)
		case name == "CapEff" && len(fields) > 0:
			s.effective, _ = strconv.ParseUint(fields[0], 16, 64)
		}
	}
	return s
}
