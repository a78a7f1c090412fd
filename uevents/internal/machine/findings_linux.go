package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Findings lists the facts in an order for people to read.
func (f *Facts) Findings() []Finding {
	config := "unknown: no configuration of this kernel is readable here"
	if f.config != "" {
		config = fmt.Sprintf("CONFIG_USER_EVENTS=%s (%s)", f.config, f.configFile)
	}
	var points []string
	for _, m := range f.mounts {
		if file, ok := m.DataFile(); ok {
			points = append(points, fmt.Sprintf("%s (%s)", file, m.Options))
		}
	}
	maxEvents := f.maxEvents
	if maxEvents == "" {
		maxEvents = "unknown: this kernel has no readable sysctl kernel.user_events_max (Linux 6.4 and later)"
	}
	return []Finding{
		{What: "kernel", Result: f.release + " " + f.machine},
		{What: "configuration", Result: config},
		{What: "mounts", Result: orNone(strings.Join(points, ", "))},
		{What: "permissions", Result: orNone(f.permissions())},
		{What: "user", Result: fmt.Sprintf("%s, groups %d", f.user, f.user.groups)},
		f.lockdownFinding(),
		{What: "AppArmor", Result: orNone(f.appArmor)},
		{What: "CAP_PERFMON", Result: capPerfmon()},
		{What: "events at most", Result: maxEvents},
	}
}

// lockdownFinding: a kernel that was locked down while it ran lets programs register and
// write, but refuses every tracing tool.
func (f *Facts) lockdownFinding() Finding {
	finding := Finding{What: "lockdown", Result: orNone(f.lockdown)}
	if f.lockdown == confidentiality {
		finding.Remedy = "no tracing tool can attach: " + loosenLockdown
	}
	return finding
}

// permissions lists modes and owners of what a program needs.
func (f *Facts) permissions() string {
	dir, ok := f.tracefsDir()
	if !ok {
		return ""
	}
	var list []string
	for _, path := range []string{dir, filepath.Join(dir, tracefs.DataFile), filepath.Join(dir, tracefs.StatusFile)} {
		st, err := os.Stat(f.path(path))
		if err != nil {
			list = append(list, fmt.Sprintf("%s: %v", path, withoutPath(err, f.path(path))))
			continue
		}
		if owner, ok := st.Sys().(*syscall.Stat_t); ok {
			list = append(list, fmt.Sprintf("%s %s %d:%d", path, st.Mode(), owner.Uid, owner.Gid))
		}
	}
	return strings.Join(list, ", ")
}

func capPerfmon() string {
	p := perfaccess.Read()
	switch {
	case p.Perfmon && !p.SysAdmin && p.Paranoid > perfaccess.Strict:
		return fmt.Sprintf("yes; kernel.perf_event_paranoid is %d, and kernels of Debian and Ubuntu then ask for CAP_SYS_ADMIN to read records", p.Paranoid)
	case p.Perfmon, p.SysAdmin:
		return "yes"
	}
	return "no: events can't be made persistent, and perf may be restricted"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
