package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perfaccess"
)

var (
	errClosed  = fmt.Errorf("perf session: %w", os.ErrClosed)
	errStopped = fmt.Errorf("the session was stopped: %w", os.ErrClosed)
)

// remedied adds the remedy to an error of the kernel, if there is one.
func remedied(err error, o *Options) error {
	if errors.Is(err, fs.ErrPermission) && !errors.Is(err, errTooMuchMemory) {
		return &perfaccess.Error{Err: err, Process: perfaccess.Read()}
	}
	if remedy := remedy(err, o); remedy != "" {
		return fmt.Errorf("%w (%s)", err, remedy)
	}
	return err
}

func remedy(err error, o *Options) string {
	switch {
	case errors.Is(err, errTooMuchMemory):
		return "raise the sysctl kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or give the program CAP_IPC_LOCK"
	case errors.Is(err, errno.EMFILE):
		return "raise RLIMIT_NOFILE: ulimit -n"
	case errors.Is(err, errno.EINVAL) && o.CgroupID:
		return "Options.CgroupID needs a kernel with CONFIG_CGROUP_PERF"
	case o.Cgroup != "" && errors.Is(err, errno.ENOENT):
		return "the cgroup has no controllers yet: enable any in cgroup.subtree_control of its parent"
	case o.Cgroup != "" && (errors.Is(err, errno.EINVAL) || errors.Is(err, errno.EBADF)):
		return "Options.Cgroup needs a kernel with CONFIG_CGROUP_PERF, and a directory of cgroup v2 or of the controller perf_event"
	case errors.Is(err, errors.ErrUnsupported):
		return "the kernel needs CONFIG_PERF_EVENTS"
	}
	return ""
}
