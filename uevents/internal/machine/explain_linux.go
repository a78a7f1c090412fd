package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// diagnosis is why a file could not be opened.
type diagnosis struct {
	reason error  // nil if the error says it all; wraps [ErrNotSupported] if that is conclusive
	remedy string // "" if there is none
}

// EnvDataFile is that of package uevents.
const EnvDataFile = "USER_EVENTS_DATA"

// confidentiality is the strict mode of lockdown.
const confidentiality = "confidentiality"

const (
	loosenLockdown   = "boot with lockdown=integrity or without lockdown"
	mountTracefs     = "mount -t tracefs nodev " + tracefs.DefaultDir
	setPath          = "set " + EnvDataFile + " or Options.Path"
	useAnotherKernel = "run a kernel that has it, such as Ubuntu's from 23.10 on, Azure Linux 3 or WSL2"
)

// Explain returns the error of opening path as user_events_data, without the path and with the reason, and what to do about
// it, which may be empty. The error wraps [ErrNotSupported] if that is conclusive.
func (f *Facts) Explain(path string, err error) (remedy string, explained error) {
	d := f.diagnose(path, err)
	err = withoutPath(err, path)
	if d.reason != nil {
		err = fmt.Errorf("%w: %w", err, d.reason)
	}
	return d.remedy, err
}

func withoutPath(err error, path string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe == err && pe.Path == path { //nolint:errorlint // identity is meant
		return pe.Err
	}
	return err
}

// diagnose says why path could not be opened as user_events_data, and what to do.
func (f *Facts) diagnose(path string, err error) diagnosis {
	var status *abi.StatusError
	switch {
	case errors.As(err, &status):
		return f.diagnoseStatus(path, status)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return f.diagnoseMissing()
	case errors.Is(err, fs.ErrPermission):
		return f.diagnosePermission(path)
	case errors.Is(err, syscall.EROFS):
		return diagnosis{errors.New("tracefs is mounted read-only"), "mount -o remount,rw " + f.mountPoint(path)}
	case errors.Is(err, syscall.ENOTTY) && f.bits == 32 && strings.HasSuffix(f.machine, "64"):
		return diagnosis{fmt.Errorf("%w for 32-bit programs on a 64-bit kernel", ErrNotSupported), "build the program for the machine's own architecture"}
	case errors.Is(err, syscall.ENOTTY):
		return diagnosis{errors.New("not a " + tracefs.DataFile), "name the file " + tracefs.DataFile + " in tracefs"}
	}
	return diagnosis{}
}

// diagnoseMissing explains that the file is not there. Only what the kernel says of itself
// makes it certain that there are no user events: the file may be elsewhere.
func (f *Facts) diagnoseMissing() diagnosis {
	elsewhere := "; if it is mounted elsewhere, " + setPath
	dir, mounted := f.tracefsDir()
	file := filepath.Join(dir, tracefs.DataFile)
	switch {
	case f.lockdown == confidentiality:
		return diagnosis{fmt.Errorf("%w: the kernel is locked down (confidentiality), which empties tracefs", ErrNotSupported), loosenLockdown}
	case f.config == "n":
		return f.withoutUserEvents()
	case f.filesystemsKnown && !f.tracefsInKernel:
		return diagnosis{fmt.Errorf("%w: the kernel %s has no tracefs", ErrNotSupported, f.release), "run a kernel with CONFIG_FTRACE and CONFIG_USER_EVENTS"}
	case f.config == "" && f.withoutSysctl():
		return diagnosis{fmt.Errorf("%w: the kernel %s has no sysctl kernel.user_events_max, so it was built without CONFIG_USER_EVENTS", ErrNotSupported, f.release), useAnotherKernel}
	case !mounted && f.config == "y":
		return diagnosis{errors.New("tracefs is not mounted here"), mountTracefs + "; in a container, mount the host's " + tracefs.DataFile + elsewhere}
	case !mounted:
		return diagnosis{errors.New("tracefs is not mounted here, so it cannot be told whether the kernel has user_events"), mountTracefs + elsewhere}
	case f.searchable(dir) && f.there(file):
		return diagnosis{errors.New("no such file there"), "the file is at " + file + ": " + setPath}
	case f.config == "y":
		return diagnosis{fmt.Errorf("the kernel has user_events, but %s has no %s to be seen", dir, tracefs.DataFile), strings.TrimPrefix(elsewhere, "; ")}
	case !f.searchable(dir):
		return diagnosis{fmt.Errorf("%s may not be searched, so it cannot be told whether the kernel has user_events", dir), f.allow(file)}
	}
	return diagnosis{fmt.Errorf("%w: tracefs is mounted at %s and has no %s, so the kernel %s was built without CONFIG_USER_EVENTS", ErrNotSupported, dir, tracefs.DataFile, f.release), useAnotherKernel}
}

// withoutUserEvents explains that the kernel's configuration excludes user events.
func (f *Facts) withoutUserEvents() diagnosis {
	return diagnosis{fmt.Errorf("%w: the kernel %s was built without CONFIG_USER_EVENTS (%s)", ErrNotSupported, f.release, f.configFile), useAnotherKernel}
}

// diagnosePermission looks for who denies: modes, or a security module.
func (f *Facts) diagnosePermission(path string) diagnosis {
	dir := filepath.Dir(path)
	module := "a security module of the kernel"
	if f.appArmor != "" {
		module = fmt.Sprintf("the AppArmor profile %q", f.appArmor)
	}
	file, err := os.Stat(f.path(path))
	switch {
	case err != nil && f.config == "n": // permission would not help
		return f.withoutUserEvents()
	case err != nil && !f.mayEnter(dir):
		return diagnosis{fmt.Errorf("%s may not be searched by %s", dir, f.user), f.allow(path)}
	case err == nil && !f.user.may(file, 2):
		return diagnosis{fmt.Errorf("%s may not write it", f.user), f.allow(path)}
	case strings.HasPrefix(path, "/sys/"):
		return diagnosis{
			fmt.Errorf("%s denies it", module),
			fmt.Sprintf("container profiles deny writing below /sys: mount the file elsewhere, such as /run/user_events/%s, and set %s", tracefs.DataFile, EnvDataFile),
		}
	}
	return diagnosis{fmt.Errorf("%s denies it", module), "allow writing " + path + " there"}
}

// diagnoseStatus explains why the second file that kernels before 6.4 need can't be used.
func (f *Facts) diagnoseStatus(path string, err *abi.StatusError) diagnosis {
	switch {
	case errors.Is(err, fs.ErrPermission):
		dir := filepath.Dir(err.Path)
		return diagnosis{remedy: f.grant(fmt.Sprintf("chgrp tracers %s %s; chmod g+x %s; chmod g+r %s", dir, err.Path, dir, err.Path))}
	case errors.Is(err, fs.ErrNotExist):
		return diagnosis{remedy: "mount " + tracefs.StatusFile + " beside " + path}
	}
	return diagnosis{}
}

func (f *Facts) allow(file string) string {
	dir := filepath.Dir(file)
	return f.grant(fmt.Sprintf("chgrp tracers %s %s; chmod g+x %s; chmod g+w %s", dir, file, dir, file))
}

func (f *Facts) grant(commands string) string {
	where := "as root"
	if f.user.namespaced {
		where = "as root outside of the user namespace"
	}
	return where + ": groupadd -f tracers; " + commands + "; and run as a member of tracers"
}

func (f *Facts) there(path string) bool {
	_, err := os.Stat(f.path(path))
	return err == nil
}

// searchable reports whether this process can look files up in a mounted tracefs. Every
// tracefs has a README.
func (f *Facts) searchable(dir string) bool { return f.there(filepath.Join(dir, "README")) }

// mayEnter reports whether modes allow looking files up in a directory.
func (f *Facts) mayEnter(dir string) bool {
	st, err := os.Stat(f.path(dir))
	return err == nil && f.user.may(st, 1)
}

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
