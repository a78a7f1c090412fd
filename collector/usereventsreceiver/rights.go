package usereventsreceiver

import (
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/internal/sys"
)

// checkRights says once which programs with events in shared memory are omitted, and why, also before there are any.
func (s *session) checkRights() {
	if s.cfg.Transport == transportKernel {
		return
	}
	if missing := missingRights(missingCapabilities(), sys.InitialNamespace("pid")); len(missing) > 0 {
		s.logger.Warn("programs with events in shared memory are omitted if they run as other users or in other containers", zap.Strings("missing", missing))
	}
}

// missingRights returns what the Collector lacks to read the memory of all programs. hostPIDs says that it sees the host's processes.
func missingRights(capabilities []string, hostPIDs bool) (missing []string) {
	missing = append(missing, capabilities...)
	if !hostPIDs {
		missing = append(missing, "the host's process ids (hostPID: true)")
	}
	return missing
}
