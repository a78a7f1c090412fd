package perfaccess

import (
	"os"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/sys"
)

// Read returns what holds for this thread. A value that cannot be told is a missing capability, or the default of Linux for the sysctl.
func Read() Process {
	p := Process{Namespaced: !sys.InitialNamespace("user"), Paranoid: Strict}
	p.Perfmon, _ = sys.HasCapability(sys.CapPerfmon)
	p.SysAdmin, _ = sys.HasCapability(sys.CapSysAdmin)
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if n, parseErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && parseErr == nil {
		p.Paranoid = n
	}
	return p
}

// PerfmonSuffices reports whether CAP_PERFMON is enough with this sysctl. A process that is not permitted it cannot tell for a kernel
// of Debian or Ubuntu, and gets false.
func (p Process) PerfmonSuffices() bool {
	if p.Paranoid <= Strict {
		return true
	}
	opens, err := sys.OpensPerfWithPerfmon()
	return err == nil && opens
}
