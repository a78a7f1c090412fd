package usereventsreceiver

import (
	"os"

	"go.uber.org/zap"
)

// checkRights says once which programs with events in shared memory are omitted, and why, also before there are any.
func (s *session) checkRights() {
	if s.cfg.Transport == TransportKernel {
		return
	}
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	if missing := missingRights(missingCapabilities(), namespace); len(missing) > 0 {
		s.logger.Warn("programs with events in shared memory are omitted if they run as other users or in other containers", zap.Strings("missing", missing))
	}
}

// hostPIDs is the PID namespace of the host, PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h.
const hostPIDs = "pid:[4026531836]"

// missingRights returns what the Collector lacks to read the memory of all programs.
func missingRights(capabilities []string, namespace string) (missing []string) {
	missing = append(missing, capabilities...)
	if namespace != "" && namespace != hostPIDs {
		missing = append(missing, "the host's process ids (hostPID: true)")
	}
	return missing
}
