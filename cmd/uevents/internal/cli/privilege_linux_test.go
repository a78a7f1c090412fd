package cli

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// rootCommands are those of scripts that root runs.
var rootCommands = map[string]func(){"asuser": program(asUser), "without": program(withoutCapability)}

// asUser, given a user id and a command, runs the command as that user, in no other group than its own.
func asUser(args []string) error {
	id, err := strconv.Atoi(args[0])
	if err := errors.Join(err, syscall.Setgroups(nil), syscall.Setgid(id), syscall.Setuid(id)); err != nil {
		return err
	}
	return execute(args[1:])
}

// withoutCapability, given the number of a capability and a command, runs the command without the capability.
func withoutCapability(args []string) error {
	capability, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // which executes the command
	const capbsetDrop = 24
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, capbsetDrop, uintptr(capability), 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return execute(args[1:])
}

func execute(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
