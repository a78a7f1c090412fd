package uevents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/uevents/tracefs"
)

// diagnosis is why a file could not be opened.
type diagnosis struct {
	reason error  // nil if the errno says it all
	remedy string // "" if there is none
}

// diagnose says why path could not be opened as user_events_data, and what to do. The
// reason is nil if err says it all; it wraps [ErrNotSupported] if the machine conclusively
// has no user events.
func (f *facts) diagnose(path string, err error) diagnosis {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return f.diagnoseMissing(path)
	case errors.Is(err, syscall.EPERM) && f.lockdown == "confidentiality":
		return f.lockedDown()
	case errors.Is(err, fs.ErrPermission):
		return f.diagnosePermission(path)
	case errors.Is(err, syscall.EROFS):
		return diagnosis{errors.New("tracefs is mounted read-only"), "mount -o remount,rw " + filepath.Dir(path) + ", or mount the one file read-write"}
	case errors.Is(err, syscall.ENOTTY):
		if strconv.IntSize == 32 && strings.HasSuffix(f.machine, "64") {
			return diagnosis{fmt.Errorf("%w for 32-bit programs on a 64-bit kernel", ErrNotSupported), "build the program for the machine's own architecture"}
		}
		return diagnosis{errors.New("not a user_events_data"), "name the file " + tracefs.DataFile + " in tracefs"}
	}
	return diagnosis{}
}

func (f *facts) diagnoseMissing(path string) diagnosis {
	place := fmt.Sprintf("if it is mounted elsewhere, set %s or Options.Path", EnvDataFile)
	mount := "mount -t tracefs nodev " + tracefs.DefaultDir
	dir, mounted := f.mountedDir()
	switch {
	case f.lockdown == "confidentiality":
		return f.lockedDown()
	case f.config == "n":
		return diagnosis{fmt.Errorf("%w: the kernel %s was built without CONFIG_USER_EVENTS (%s)", ErrNotSupported, f.release, f.configFile),
			"run a kernel that has it, such as Ubuntu's from 23.10 on, Azure Linux 3 or WSL2"}
	case f.filesystemsKnown && !f.tracefsInKernel:
		return diagnosis{fmt.Errorf("%w: the kernel %s has no tracefs", ErrNotSupported, f.release), "run a kernel with CONFIG_FTRACE and CONFIG_USER_EVENTS"}
	case !mounted && f.config == "y":
		return diagnosis{errors.New("tracefs is not mounted here"), mount + "; in a container, mount the host's " + tracefs.DataFile + "; " + place}
	case !mounted:
		return diagnosis{errors.New("tracefs is not mounted here, so it cannot be told whether the kernel has user_events"), mount + "; " + place}
	case f.config == "y":
		return diagnosis{fmt.Errorf("the kernel has user_events, but %s has no %s", dir, tracefs.DataFile), place}
	case !f.visible(dir):
		return diagnosis{fmt.Errorf("%s may not be searched, so it cannot be told whether the kernel has user_events", dir), allow(dir)}
	case f.visible(filepath.Join(dir, tracefs.DataFile)):
		return diagnosis{errors.New("no such file there"), "the file is at " + filepath.Join(dir, tracefs.DataFile) + ": " + place}
	}
	return diagnosis{fmt.Errorf("%w: tracefs is mounted at %s and has no %s, so the kernel %s was built without CONFIG_USER_EVENTS", ErrNotSupported, dir, tracefs.DataFile, f.release),
		"run a kernel that has it, such as Ubuntu's from 23.10 on, Azure Linux 3 or WSL2"}
}

func (f *facts) lockedDown() diagnosis {
	return diagnosis{fmt.Errorf("%w: the kernel is locked down (confidentiality), which removes tracefs", ErrNotSupported),
		"boot with lockdown=integrity or without lockdown"}
}

func (f *facts) diagnosePermission(path string) diagnosis {
	dir := filepath.Dir(path)
	if f.appArmor != "" && f.mayWrite(path) {
		return diagnosis{fmt.Errorf("the AppArmor profile %q denies it", f.appArmor),
			fmt.Sprintf("container profiles deny writing below /sys: mount the file elsewhere, such as /run/user_events/%s, and set %s", tracefs.DataFile, EnvDataFile)}
	}
	if !f.visible(path) {
		return diagnosis{fmt.Errorf("%s may not be searched by user %d", dir, os.Geteuid()), allow(dir)}
	}
	return diagnosis{fmt.Errorf("user %d may not write it", os.Geteuid()), allow(dir)}
}

func allow(dir string) string {
	return fmt.Sprintf("as root: groupadd -f tracers; chgrp tracers %s %s; chmod g+x %s; chmod g+w %s; and run as a member of tracers",
		dir, filepath.Join(dir, tracefs.DataFile), dir, filepath.Join(dir, tracefs.DataFile))
}

// mountedDir returns the directory of a whole tracefs.
func (f *facts) mountedDir() (dir string, ok bool) {
	for _, m := range f.mounts {
		if d, ok := m.Tracefs(); ok && m.Type == "tracefs" {
			return d, true
		}
	}
	return "", false
}

// visible reports whether a file or directory can be looked up, and a directory listed
// further.
func (f *facts) visible(path string) bool {
	st, err := os.Stat(f.path(path))
	if err == nil && st.IsDir() {
		_, err = os.Stat(f.path(path) + "/README")
	}
	return err == nil
}

// mayWrite reports whether the file's mode lets this process write it, whatever security
// modules say.
func (f *facts) mayWrite(path string) bool {
	if os.Geteuid() == 0 {
		return true
	}
	st, err := os.Stat(f.path(path))
	if err != nil {
		return false
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	mode := st.Mode().Perm()
	switch {
	case !ok:
		return false
	case int(own.Uid) == os.Geteuid():
		return mode&0o200 != 0
	case int(own.Gid) == os.Getegid() || hasGroup(int(own.Gid)):
		return mode&0o020 != 0
	}
	return mode&0o002 != 0
}

func hasGroup(gid int) bool {
	groups, err := os.Getgroups()
	if err != nil {
		return false
	}
	for _, g := range groups {
		if g == gid {
			return true
		}
	}
	return false
}
