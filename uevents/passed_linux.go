package uevents

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents/internal/machine"
)

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
