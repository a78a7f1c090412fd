package usereventsreceiver

import (
	"os"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// checkRights says once which programs with events in shared memory are omitted, and why. The reader does not: it cannot know whether
// a process that it may not read offers events.
func (s *session) checkRights() {
	if s.cfg.Transport == TransportKernel {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	if missing := missingRights(string(status), namespace); len(missing) > 0 {
		s.logger.Warn("programs with events in shared memory are omitted if they run as other users or in other containers", zap.Strings("missing", missing))
	}
}

// hostPIDs is the PID namespace of the host, PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h.
const hostPIDs = "pid:[4026531836]"

// missingRights returns what the Collector lacks to read the memory of all programs.
func missingRights(status, namespace string) (missing []string) {
	_, text, _ := strings.Cut(status, "\nCapEff:")
	text, _, _ = strings.Cut(text, "\n")
	effective, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	for _, c := range []struct {
		name string
		bit  int // include/uapi/linux/capability.h
	}{{"CAP_SYS_PTRACE", 19}, {"CAP_DAC_READ_SEARCH", 2}} {
		if err == nil && effective&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if namespace != "" && namespace != hostPIDs {
		missing = append(missing, "the host's process ids (hostPID: true)")
	}
	return missing
}
