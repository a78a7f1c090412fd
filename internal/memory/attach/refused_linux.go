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
	err = fmt.Errorf("memory of process %d: %w", pid, err)
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
const capSysPtrace = 1 << 19

// status is a part of /proc/PID/status, which all users may read.
type status struct {
	uid          string
	capabilities uint64 // permitted
}

func readStatus(pid string) (s status) {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch fields := strings.Fields(value); {
		case name == "Uid" && len(fields) > 0:
			s.uid = fields[0]
		case name == "CapPrm" && len(fields) > 0:
			s.capabilities, _ = strconv.ParseUint(fields[0], 16, 64)
		}
	}
	return s
}
