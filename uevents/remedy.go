package uevents

import (
	"errors"
	"io/fs"
	"os"

	"github.com/userevents/userevents-go/internal/errno"
)

// remedyRegister says what can be done about a registration that failed.
func remedyRegister(t Transport, abi ABI, err error) string {
	switch {
	case errors.Is(err, errUnwritable):
		return "raise Options.MaxPayload, or drop or shorten fields"
	case t == TransportMemory:
		return remedyMemory(err)
	case errors.Is(err, ErrConflict):
		return "all programs of a machine share event names: end the other program, detach the tools from its event, or choose NameHashedOnConflict"
	case errors.Is(err, errno.EMFILE) && abi != ABIEnableAddress:
		return "the kernel's status page is full, and this kernel keeps events: delete those that no program uses"
	case errors.Is(err, errno.EMFILE):
		return "the machine has as many user events as it may: raise the sysctl kernel.user_events_max"
	case errors.Is(err, errno.ENOMEM):
		return "the kernel is out of memory, or the cgroup at its limit"
	}
	return ""
}

// remedyMemory is remedyRegister for shared memory, which is the program's own.
func remedyMemory(err error) string {
	var call *os.SyscallError
	system := errors.As(err, &call)
	switch {
	case errors.Is(err, ErrConflict):
		return "the program has registered the name with other fields: close that event, or choose NameHashedOnConflict"
	case errors.Is(err, errno.EMFILE) && system:
		return "the program has as many open files as it may: raise RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, errno.EMFILE):
		return "register the same events again rather than new ones"
	case errors.Is(err, errno.ENOMEM) && !system:
		return "put events into groups, which share enable words"
	}
	return ""
}

// remedyWrite says what can be done about a record that the kernel refused.
func remedyWrite(err error) string {
	switch {
	case errors.Is(err, errno.EBADF):
		return "other code of the program has closed the descriptor of user_events_data, whose number may now be that of another file: find it"
	case errors.Is(err, errno.EFAULT):
		return "dynamic fields must lie inside the payload, and texts end in a NUL, empty ones too; package encode/typed writes such payloads"
	}
	return ""
}

// remedyDelete says what can be done about a deletion that failed.
func remedyDelete(err error) string {
	switch {
	case errors.Is(err, errno.EBUSY):
		return "detach the tools, and close the providers of all programs that registered it: closing the event is not enough"
	case errors.Is(err, fs.ErrPermission):
		return "deleting a persistent event takes CAP_PERFMON"
	}
	return ""
}
