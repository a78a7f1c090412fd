package uevents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

func openKernel(o *Options) (backend.Backend, error) {
	f, err := openFile(o)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openFile finds and opens the data file. Its errors are explained.
func openFile(o *Options) (*abi.File, error) {
	if o != nil && o.File != nil {
		f, err := abi.FromFile(o.File)
		if err != nil {
			return nil, explain(o.File.Name(), err, machine.Read("/"))
		}
		return f, nil
	}
	if path := explicitPath(o); path != "" {
		return openPath(path)
	}
	if fd, name, ok := passedDescriptor(os.Getenv, os.Getpid()); ok {
		return openPassed(fd, name)
	}
	// The usual place first, without looking at mounts: a container may have that one file
	// and no /proc.
	usual := filepath.Join(tracefs.DefaultDir, tracefs.DataFile)
	f, err := abi.Open(usual)
	if err == nil {
		return f, nil
	}
	facts := machine.Read("/")
	failed := []error{explain(usual, err, facts)}
	for _, path := range facts.DataFiles() {
		if path == usual {
			continue
		}
		if f, err = abi.Open(path); err == nil {
			return f, nil
		}
		failed = append(failed, explain(path, err, facts))
	}
	return nil, mostTelling(failed)
}

func openPath(path string) (*abi.File, error) {
	f, err := abi.Open(path)
	if err != nil {
		return nil, explain(path, err, machine.Read("/"))
	}
	return f, nil
}

// explicitPath returns the path that options or environment name, or "".
func explicitPath(o *Options) string {
	path := getenv(EnvDataFile)
	if o != nil && o.Path != "" {
		path = o.Path
	}
	if path == "" {
		return ""
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, tracefs.DataFile)
	}
	return path
}

func namesKernel(o *Options) bool {
	_, _, passed := passedDescriptor(os.Getenv, os.Getpid())
	return passed || o != nil && o.File != nil || explicitPath(o) != ""
}

// mostTelling chooses among the errors of several places: a file that is there and refuses
// says more than one that is not there.
func mostTelling(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return !missing(err) })
	return errs[max(i, 0)]
}

// missing reports whether an explained error is about a data file that is not there.
func missing(err error) bool {
	if errors.Is(err, ErrNotSupported) {
		return true
	}
	var status *abi.StatusError
	return errors.Is(err, fs.ErrNotExist) && !errors.As(err, &status)
}

// explain returns an error of opening path that follows the package's contract.
func explain(path string, err error, f *machine.Facts) error {
	remedy, err := f.Explain(path, err)
	return &Error{Op: "open", Name: path, Err: err, Remedy: remedy}
}

// Names that a user_events_data is passed by. systemd takes the second one, the name of the file, where a unit gives none.
var passedNames = []string{"user_events", tracefs.DataFile}

// firstPassed is the first descriptor that a service manager passes: see sd_listen_fds(3).
const firstPassed = 3

// passedDescriptor returns the descriptor of the user_events_data that a service manager passed to this process.
func passedDescriptor(getenv func(string) string, pid int) (fd int, name string, ok bool) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return 0, "", false // nothing was passed, or to a parent
	}
	count, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil {
		return 0, "", false
	}
	for n, name := range strings.Split(getenv("LISTEN_FDNAMES"), ":") {
		if n < count && slices.Contains(passedNames, name) {
			return firstPassed + n, name, true
		}
	}
	return 0, "", false
}

// openPassed opens a passed descriptor again, for this provider alone: each one of a process has its own. The variables
// stay, so that every part of the program that opens a provider finds it. As sd_listen_fds does, it closes
// the descriptor on exec: it was passed to this program, not to those that it starts.
func openPassed(fd int, name string) (*abi.File, error) {
	own, err := sys.Dup(fd)
	if err == nil {
		file := os.NewFile(uintptr(own), name)
		var f *abi.File
		f, err = abi.FromFile(file)
		if err = errors.Join(err, file.Close()); err == nil {
			sys.CloseOnExec(fd)
			return f, nil
		}
	}
	what := fmt.Sprintf("descriptor %d (%s of LISTEN_FDNAMES)", fd, name)
	if errors.Is(err, syscall.EBADF) {
		remedy := "it was closed after the program's start, by a package that takes all passed descriptors or by execve: give Options.File"
		return nil, &Error{Op: "open", Name: what, Err: err, Remedy: remedy}
	}
	return nil, explain(what, err, machine.Read("/"))
}

func (r *Report) look(b backend.Backend) {
	if f, ok := b.(*abi.File); ok {
		r.ABI = ABI(f.ABI())
		r.DataFile = f.Path()
	}
	for _, f := range machine.Read("/").Findings() {
		r.Findings = append(r.Findings, Finding(f))
	}
}
