//go:build !386 && !arm && !mips && !mipsle

package sys_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// envConfined makes this test binary a program that lacks something: the number of a system call that a filter refuses, or of free
// descriptors, as -1 for none, -2 for one.
const envConfined = "SYS_TEST_CONFINED"

// confinedLives is the exit code of a program that has done everything: it cannot say so where write is refused.
const confinedLives = 42

func init() {
	if lacks, ok := os.LookupEnv(envConfined); ok { // before the tests start the poller
		n, err := strconv.Atoi(lacks)
		if err != nil {
			panic(err)
		}
		confined(n)
		os.Exit(confinedLives)
	}
}

// confined does what programs do, before and after they are confined. Only errors are allowed.
func confined(lacks int) {
	declaration := tracepoint.Declaration{Name: fmt.Sprintf("ue_confined_%d", os.Getpid())}
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	ev, err2 := p.Register(declaration, nil)
	m, err3 := attach.Open(os.Getpid())
	if err := errors.Join(err, err2, err3); err != nil {
		panic(err)
	}
	s, err := m.Attach(attach.Options{Patterns: []string{declaration.Name}})
	if err != nil || !ev.Enabled() {
		panic(fmt.Sprint("not enabled: ", err))
	}
	confine(lacks)
	for range 3 {
		_, _ = ev.WriteRecord(make([]byte, 4))
	}
	for _, transport := range []uevents.Transport{uevents.TransportAuto, uevents.TransportKernel, uevents.TransportMemory} {
		other, _ := uevents.Open(&uevents.Options{Transport: transport})
		ev, _ := other.Register(tracepoint.Declaration{Name: declaration.Name + "_other"}, nil)
		_, _ = ev.WriteRecord(make([]byte, 4))
		_ = other.Close()
		h, _ := sloghandler.New("confined", &sloghandler.Options{Provider: other})
		slog.New(h).Error("no record")
	}
	_ = s.Detach()
	_ = m.Close()
	_ = p.Close()
}

func confine(lacks int) {
	if lacks >= 0 {
		if err := refuse(uint32(lacks), unix.EPERM); err != nil {
			panic(err)
		}
		return
	}
	// All descriptors below the limit are in use, but some.
	var last int
	for {
		fd, err := unix.Dup(2)
		if err != nil {
			panic(err)
		}
		if last = fd; fd > 20 {
			break
		}
	}
	limit := unix.Rlimit{Cur: uint64(last - lacks), Max: uint64(last - lacks)}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
}

// TestNothingEndsPrograms: whatever a sandbox refuses, and however few descriptors are left, a program goes on: no constructor and no log
// call panics, exits, or starts Go's poller, which ends a program without descriptors.
func TestNothingEndsPrograms(t *testing.T) {
	testscale.HostOnly(t)
	tests := map[string]int{"no descriptor": -1, "1 descriptor": -2, "2 descriptors": -3, "3 descriptors": -4}
	for name, call := range map[string]int{
		"capget": unix.SYS_CAPGET, "clock_gettime": unix.SYS_CLOCK_GETTIME, "close": unix.SYS_CLOSE, "connect": unix.SYS_CONNECT, "dup": unix.SYS_DUP,
		"epoll_create1": unix.SYS_EPOLL_CREATE1, "epoll_ctl": unix.SYS_EPOLL_CTL, "eventfd2": unix.SYS_EVENTFD2, "faccessat": unix.SYS_FACCESSAT,
		"faccessat2": unix.SYS_FACCESSAT2, "fchmod": unix.SYS_FCHMOD, "fcntl": unix.SYS_FCNTL, "flock": unix.SYS_FLOCK, "fstat": unix.SYS_FSTAT,
		"fstatfs": unix.SYS_FSTATFS, "ftruncate": unix.SYS_FTRUNCATE, "getcwd": unix.SYS_GETCWD, "getdents64": unix.SYS_GETDENTS64,
		"geteuid": unix.SYS_GETEUID, "getpid": unix.SYS_GETPID, "getrandom": unix.SYS_GETRANDOM, "getuid": unix.SYS_GETUID, "ioctl": unix.SYS_IOCTL,
		"lseek": unix.SYS_LSEEK, "madvise": unix.SYS_MADVISE, "memfd_create": unix.SYS_MEMFD_CREATE, "mincore": unix.SYS_MINCORE,
		"mkdirat": unix.SYS_MKDIRAT, "openat": unix.SYS_OPENAT, "openat2": unix.SYS_OPENAT2, "pipe2": unix.SYS_PIPE2, "prctl": unix.SYS_PRCTL,
		"pread64": unix.SYS_PREAD64, "prlimit64": unix.SYS_PRLIMIT64, "read": unix.SYS_READ, "readlinkat": unix.SYS_READLINKAT,
		"sched_getaffinity": unix.SYS_SCHED_GETAFFINITY, "setsockopt": unix.SYS_SETSOCKOPT, "socket": unix.SYS_SOCKET, "statfs": unix.SYS_STATFS,
		"statx": unix.SYS_STATX, "sysinfo": unix.SYS_SYSINFO, "uname": unix.SYS_UNAME, "unlinkat": unix.SYS_UNLINKAT, "write": unix.SYS_WRITE,
		"writev": unix.SYS_WRITEV,
	} {
		tests["no "+name] = call
	}
	for name, lacks := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envConfined+"="+strconv.Itoa(lacks), "XDG_RUNTIME_DIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			exit := new(exec.ExitError)
			require.ErrorAs(t, err, &exit, "%s", out)
			assert.Equal(t, confinedLives, exit.ExitCode(), "%s", out)
		})
	}
}
