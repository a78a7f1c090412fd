// Package perfaccess says why the kernel refuses perf_event_open(2) for the events of all processes, and what to do about it.
package perfaccess

import (
	"fmt"
	"strings"
)

// Process is what the kernel's decision depends on.
type Process struct {
	Perfmon, SysAdmin bool // effective capabilities
	Namespaced        bool // of a user namespace other than the first one, whose capabilities the kernel does not accept here
	Paranoid          int  // the sysctl kernel.perf_event_paranoid
}

// Strict is the greatest kernel.perf_event_paranoid of Linux itself, and its default. Above it, the kernels of Debian (whose default
// is 3) and of Ubuntu (4) refuse perf_event_open without CAP_SYS_ADMIN: perf_paranoid_any in kernel/events/core.c.
const Strict = 2

// SysctlFile keeps kernel.perf_event_paranoid at Strict over restarts. Its name comes after that of /etc/sysctl.conf, 99-sysctl.conf.
const SysctlFile = "/etc/sysctl.d/99-uevents.conf"

// SysctlContent is the content of SysctlFile.
const SysctlContent = "kernel.perf_event_paranoid=2\n"

var relax = fmt.Sprintf("sudo sh -c 'echo %s >%s && sysctl -p %s'", strings.TrimSpace(SysctlContent), SysctlFile, SysctlFile)

// Refusal is why perf_event_open failed, and what to do about it.
type Refusal struct {
	Reason string
	// Remedies has at least one. Some are commands of a shell, which begin with sudo.
	Remedies []string
}

// Refused explains that perf_event_open returned EPERM or EACCES. program is the program's path, as a word for a shell.
func (p Process) Refused(program string) Refusal {
	sysctl := fmt.Sprintf("kernel.perf_event_paranoid is %d", p.Paranoid)
	switch {
	case p.Paranoid < 0, !p.Namespaced && (p.SysAdmin || p.Perfmon && p.Paranoid <= Strict):
		return Refusal{
			"capabilities and kernel.perf_event_paranoid permit it: a seccomp profile, a security module or lockdown refuses perf_event_open",
			[]string{"in a container: docker run --security-opt seccomp=unconfined, or with a profile that allows perf_event_open"},
		}
	case p.Namespaced:
		return Refusal{
			"capabilities of a user namespace, as in a rootless container, do not count, and " + sysctl,
			[]string{"run it outside of that user namespace"},
		}
	case p.Perfmon:
		return Refusal{
			fmt.Sprintf("CAP_PERFMON is not enough: %s, and above %d this kernel asks for CAP_SYS_ADMIN, as those of Debian and Ubuntu do", sysctl, Strict),
			[]string{
				relax,
				fmt.Sprintf("%d is the default of Linux: all users may then measure their own processes; reading records takes CAP_PERFMON as before", Strict),
				"or give it most permissions of root: sudo setcap cap_sys_admin+ep " + program + "; in a container: docker run --cap-add SYS_ADMIN",
			},
		}
	}
	r := Refusal{"no CAP_PERFMON, and " + sysctl, []string{
		"sudo setcap cap_perfmon+ep " + program,
		"everyone who can run it can then read all records: sudo chmod 0750 " + program + ", and chgrp to a trusted group",
	}}
	if p.Paranoid > Strict {
		r.Remedies = append(r.Remedies, fmt.Sprintf("above %d, kernels of Debian and Ubuntu ask for CAP_SYS_ADMIN in place of CAP_PERFMON; then also: %s", Strict, relax))
	}
	return r
}

// Error is a refused perf_event_open of this process.
type Error struct {
	Err     error // the kernel's
	Process Process
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%v (%s%s)", e.Err, e.Process.Refused("").Reason, e.Remedy())
}

// Remedy is the part of the text on what to do, for commands that say it with the path of the program.
func (e *Error) Remedy() string { return ": " + e.Process.Refused("PROGRAM").Remedies[0] }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
