//go:build !386 && !arm && !mips && !mipsle

package sys_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// envFilter makes TestSeccomp a program that may not do some system calls.
const envFilter = "SYS_TEST_SECCOMP"

var errWorks = errors.New("works")

// TestSeccomp: where a filter refuses memfd_create, the program takes files. If it can write to no directory either, Open says so, and
// the program goes on. It is here for the filter, which takes unsafe.
func TestSeccomp(t *testing.T) {
	testscale.HostOnly(t)
	filters := map[string]struct {
		refused uint32
		errno   unix.Errno
		dir     string // "" is one for the program
		works   bool
		says    string
	}{
		"no memfd_create":                    {unix.SYS_MEMFD_CREATE, unix.EPERM, "", true, "works"},
		"no memfd_create and no directory":   {unix.SYS_MEMFD_CREATE, unix.EPERM, "/proc", false, "open shared memory: memfd_create: operation not permitted; files instead: mkdir /proc/userevents"},
		"unknown memfd_create, no directory": {unix.SYS_MEMFD_CREATE, unix.ENOSYS, "/proc", false, "memfd_create: function not implemented; files instead: mkdir /proc/userevents"},
		"no flock":                           {unix.SYS_FLOCK, unix.EPERM, "/proc", false, "flock: operation not permitted"},
		"no io_uring, as docker has it":      {unix.SYS_IO_URING_SETUP, unix.EPERM, "/proc", true, "works"},
		"no statfs, which tools need":        {unix.SYS_FSTATFS, unix.EPERM, "/proc", true, "works"},
	}
	if name, ok := os.LookupEnv(envFilter); ok {
		f := filters[name]
		require.NoError(t, refuse(f.refused, f.errno))
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		ev, err2 := p.Register(tracepoint.Declaration{Name: "ue_env"}, nil)
		if err = errors.Join(err, err2); err == nil {
			err = errWorks
		}
		fmt.Printf("says: unsupported=%t %v\n", errors.Is(err, errors.ErrUnsupported), err)
		assert.False(t, ev.Enabled())
		written, err := ev.WriteRecord(make([]byte, 4))
		assert.NoError(t, err)
		assert.False(t, written)
		require.NoError(t, p.Close())
		return
	}
	for name, f := range filters {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSeccomp$", "-test.v")
			cmd.Env = append(os.Environ(), envFilter+"="+name, "XDG_RUNTIME_DIR="+cmp.Or(f.dir, t.TempDir()))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "--- PASS: TestSeccomp")
			_, said, _ := strings.Cut(string(out), "says: ")
			said, _, _ = strings.Cut(said, "\n")
			assert.Contains(t, said, f.says)
			if !f.works {
				assert.Contains(t, said, fmt.Sprintf("unsupported=%t", f.errno == unix.ENOSYS))
			}
			t.Log(said)
		})
	}
}

// refuse lets a system call fail in all threads from now on.
func refuse(call uint32, errno unix.Errno) error {
	const numberOffset = 0 // of struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return e
	}
	return nil
}

// envContext makes TestSeccompProcessContext a program that may not do some system calls.
const envContext = "SYS_TEST_CONTEXT"

// TestSeccompProcessContext: a process context is published where a filter refuses one of two system calls. Where it refuses both, the
// error has them, and nothing is left behind.
func TestSeccompProcessContext(t *testing.T) {
	testscale.HostOnly(t)
	const (
		without = "no reader can find a process context without a name: "
		memfd   = "memfd_create: operation not permitted"
	)
	filters := map[string]struct {
		refused []uint32
		says    []string // one of them; kernels have names of mappings, or not
	}{
		"nothing":                   {nil, []string{"<nil>"}},
		"no memfd_create":           {[]uint32{unix.SYS_MEMFD_CREATE}, []string{"<nil>", without + memfd + "; prctl: invalid argument"}},
		"no prctl":                  {[]uint32{unix.SYS_PRCTL}, []string{"<nil>"}},
		"no memfd_create, no prctl": {[]uint32{unix.SYS_MEMFD_CREATE, unix.SYS_PRCTL}, []string{without + memfd + "; prctl: operation not permitted"}},
	}
	if filter, ok := os.LookupEnv(envContext); ok {
		for _, call := range filters[filter].refused {
			require.NoError(t, refuse(call, unix.EPERM))
		}
		c, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "shop"}})
		fmt.Println("says:", err)
		resource, readErr := processcontext.Read("/proc/self")
		assert.Equal(t, err == nil, readErr == nil)
		assert.Equal(t, err == nil, len(resource) == 1)
		assert.NoError(t, c.Close())
		return
	}
	for filter, f := range filters {
		t.Run(filter, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSeccompProcessContext$", "-test.v")
			cmd.Env = append(os.Environ(), envContext+"="+filter)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			_, said, _ := strings.Cut(string(out), "says: ")
			said, _, _ = strings.Cut(said, "\n")
			assert.Contains(t, f.says, said)
		})
	}
}
