package cli

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/uevents"
)

// Exit codes, which the help of the root command documents.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitNotSupported = 3
	exitNotPermitted = 4
	exitLost         = 5

	// Those of shells and of env(1) for a COMMAND that did not run.
	exitNotExecutable = 126
	exitNotFound      = 127
)

// errLost ends a command that lost records under --strict. The summary has their number.
var errLost = errors.New("records were lost (--strict)")

// usageError is a mistake in the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// silentError ends a command that has already reported its error.
type silentError struct{ error }

func (s silentError) Unwrap() error { return s.error }

// startError is the error of starting a COMMAND.
type startError struct{ error }

func (s startError) Unwrap() error { return s.error }

// hintError is an error with a remedy, which is printed below it. Each line of it is a remedy.
type hintError struct {
	error
	hint string
}

func (h hintError) Unwrap() error { return h.error }

// exitCode returns the exit code for the error of a command. The first matching code counts, and usage errors come
// first: a wrong command line is wrong on every machine.
func exitCode(err error) int {
	_, usage := errors.AsType[usageError](err)
	command, ended := errors.AsType[commandError](err)
	start, notStarted := errors.AsType[startError](err)
	switch {
	case err == nil:
		return exitOK
	case usage:
		return exitUsage
	case ended:
		return command.code
	case notStarted && (errors.Is(start, exec.ErrNotFound) || errors.Is(start, fs.ErrNotExist)):
		return exitNotFound
	case notStarted:
		return exitNotExecutable
	case errors.Is(err, errLost):
		return exitLost
	case errors.Is(err, uevents.ErrNotSupported), errors.Is(err, errors.ErrUnsupported): // whatever is permitted
		return exitNotSupported
	case errors.Is(err, fs.ErrPermission):
		return exitNotPermitted
	}
	return exitError
}

// hintForList adds the remedy to an error of listing events.
func hintForList(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return hintError{err, "files of tracefs belong to root: run it as root, or let a group read them: sudo uevents setup GROUP --apply"}
	}
	return err
}

// hintForPerf adds the remedy to an error of perf_event_open.
func hintForPerf(err error) error {
	remedies := []string{"or run it as root; or let a group read events: sudo uevents setup GROUP --apply"}
	if refused, ok := errors.AsType[*perfaccess.Error](err); ok {
		remedies = append(refused.Process.Refused(self()).Remedies, remedies...)
	}
	return hintError{err, strings.Join(remedies, "\n")}
}
