//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
)

// Capabilities, include/uapi/linux/capability.h.
const (
	capDacReadSearch  = 2
	capNetBindService = 10
	capSysPtrace      = 19
)

const (
	user    = 1000
	another = 1001
	mapped  = 100_000 // the first uid of a container
)

// as runs a child as a user with these capabilities only.
func as(uid uint32, caps ...uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, AmbientCaps: caps}
}

// namespaced runs a child with user, mount and PID namespaces of its own, in which it is root. No process outside has its uid.
func namespaced() *syscall.SysProcAttr {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: mapped, Size: 65536}}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{Uid: 0, Gid: 0},
	}
}

// own adds a mount namespace.
func own(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	a.Unshareflags |= syscall.CLONE_NEWNS
	return a
}

// TestWhoMayAttach: the kernel lets those attach who may read the program's memory. The others are told what they lack.
func TestWhoMayAttach(t *testing.T) {
	asRoot(t)
	program := func(attr *syscall.SysProcAttr, setup string) childOptions {
		return childOptions{role: "program", attr: attr, setup: setup}
	}
	for _, c := range []struct {
		name    string
		program childOptions
		tool    *syscall.SysProcAttr
		refused string // "" if it attaches
	}{
		{"the same user", program(as(user), ""), as(user), ""},
		{"another user", program(as(user), ""), as(another), "the process has uid 1000, and this tool 1001"},
		{"root's", program(nil, ""), as(user), "the process has uid 0, and this tool 1000"},
		{"root", program(as(user), ""), nil, ""},
		{"mount namespaces", program(own(as(user)), ""), own(as(user)), ""},
		{"not dumpable", program(as(user), "undumpable"), as(user), "not dumpable"},
		{"not dumpable, root", program(as(user), "undumpable"), nil, ""},
		{"capabilities", program(as(user, capNetBindService), ""), as(user), "the process has capabilities 0x400"},
		{"the same capabilities", program(as(user, capNetBindService), ""), as(user, capNetBindService), ""},
		{"more capabilities", program(as(user), ""), as(user, capNetBindService), ""},
		{"CAP_SYS_PTRACE", program(as(user), ""), as(another, capSysPtrace), "CAP_DAC_READ_SEARCH for the directory of uid 1000"},
		{"and CAP_DAC_READ_SEARCH", program(as(user), ""), as(another, capSysPtrace, capDacReadSearch), ""},
		{"CAP_SYS_PTRACE and the user", program(as(user, capNetBindService), ""), as(user, capSysPtrace), ""},
		{"container, root", program(namespaced(), ""), nil, ""},
		{"container with a read-only root, root", program(namespaced(), "root"), nil, ""},
		{"container with a user and a read-only root, root", program(namespaced(), "root uid=1000 dumpable"), nil, ""},
		{"container, another user", program(namespaced(), ""), as(user), "the process has uid 100000, and this tool 1000"},
		{"container, its user", program(namespaced(), ""), as(mapped), "the process has capabilities"},
		{"container with a user, that user", program(namespaced(), "root uid=1000 dumpable"), as(mapped + 1000), "in another user namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := startReady(t, c.program)
			tool := startReady(t, childOptions{role: "tool", attr: c.tool})
			if c.refused == "" {
				mustServe(t, tool, program)
			} else {
				said := tool.asked("attach %d 65536", program.pid)
				assert.Contains(t, said, "refused permission=true: ")
				assert.Contains(t, said, c.refused)
				t.Log(said)
			}
			tool.end()
			program.end()
		})
	}
}

// TestRootless: who starts a container without being root may attach to the programs in it.
func TestRootless(t *testing.T) {
	asRoot(t)
	// The owner of a user namespace is who makes it: a child does.
	program := startReady(t, childOptions{role: "rootless", attr: as(user)})
	tool := startReady(t, childOptions{role: "tool", attr: as(user)})
	mustServe(t, tool, program)
	tool.end()
	program.end()
}

// TestToolInContainer: root in a user namespace is not root for programs outside.
func TestToolInContainer(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program", attr: as(mapped)})
	attr := namespaced()
	attr.Cloneflags = syscall.CLONE_NEWUSER
	tool := startReady(t, childOptions{role: "tool", attr: attr})
	said := tool.asked("attach %d 65536", program.pid)
	assert.Contains(t, said, "refused permission=true: ", "the uid is the same")
	assert.Contains(t, said, "this tool has CAP_SYS_PTRACE: it lacks it in the user namespace of the process")
	tool.end()
	program.end()
}

// TestRootWithoutPtrace: root is like any user if it lacks the one capability.
func TestRootWithoutPtrace(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program", attr: as(user)})
	tool := startReady(t, childOptions{role: "tool", setup: fmt.Sprintf("without=%d", capSysPtrace)})
	said := tool.asked("attach %d 65536", program.pid)
	assert.Contains(t, said, "refused permission=true: ")
	assert.Contains(t, said, "the process has uid 1000, and this tool 0")
	tool.end()
	program.end()
}

// TestNoProcess: a process that does not exist, and one that offers no events.
func TestNoProcess(t *testing.T) {
	c := startReady(t, childOptions{role: "tool"})
	_, err := attach.Open(c.pid)
	assert.ErrorIs(t, err, attach.ErrNoMemory)
	c.end()
	_, err = attach.Open(c.pid)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// TestSpawn: a program that another one starts has nothing of the memory.
func TestSpawn(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	assert.Contains(t, program.asked("files"), "/memfd:"+layout.DataName)
	assert.NotContains(t, program.asked("spawn"), "memfd")
	program.end()
}

// TestExec: a program that executes itself has new memory. The old one is gone, but for the records that a tool has not read.
func TestExec(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	before, err := attach.Open(program.pid)
	require.NoError(t, err)
	s, err := before.Attach(attach.Options{Patterns: []string{"ue_env"}})
	require.NoError(t, err)
	require.Equal(t, "wrote", program.asked("write 10 12"))
	require.Equal(t, fmt.Sprintf("ready %d", program.pid), program.asked("exec"))
	assert.Equal(t, 2, strings.Count(program.asked("files"), "/memfd:"))
	assert.Len(t, s.Drain(), 10, "as after the end of the program")

	tool := startReady(t, childOptions{role: "tool"})
	mustServe(t, tool, program)
	assert.Empty(t, s.Drain(), "the new memory is another one")
	require.NoError(t, errors.Join(s.Detach(), before.Close()))
	tool.end()
	program.end()
}

// TestSetuid: a program that changes its user while a tool is attached goes on, and the tool still reads it.
func TestSetuid(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program"})
	p, err := attach.Open(program.pid)
	require.NoError(t, err)
	s, err := p.Attach(attach.Options{Patterns: []string{"ue_env"}})
	require.NoError(t, err)
	require.Equal(t, "wrote", program.asked("write 10 12"))
	require.Equal(t, "uid 1000", program.asked("uid 1000"))
	require.Equal(t, "wrote", program.asked("write 10 12"))
	assert.Len(t, s.Read(), 20)
	require.NoError(t, s.Detach())
	require.NoError(t, p.Close())

	another := startReady(t, childOptions{role: "tool"})
	mustServe(t, another, program)
	another.end()
	refused := startReady(t, childOptions{role: "tool", attr: as(user)})
	assert.Contains(t, refused.asked("attach %d 65536", program.pid), "not dumpable", "the kernel protects what root has left in memory")
	refused.end()
	require.Equal(t, "closed", program.asked("close"))
	program.end()
}

// TestFilesOfAnotherUser: files that a user has passed to a program with other privileges are none of that program's.
func TestFilesOfAnotherUser(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "privileged"})
	_, err := attach.Open(program.pid)
	assert.ErrorContains(t, err, fmt.Sprintf("its owner is uid %d, and the process has uid 0", user))
	require.Equal(t, "closed", program.asked("close"))
	program.end()
}

// TestTimeNamespace: a program in another time namespace has another CLOCK_MONOTONIC. Its records and the expiry of its tools have the
// right times.
func TestTimeNamespace(t *testing.T) {
	testscale.HostOnly(t)
	asRoot(t)
	unshare := testscale.NeedProgram(t, "unshare")
	program := startReady(t, childOptions{role: "program", under: []string{unshare, "--time", "--monotonic", "1500"}})
	p, err := attach.Open(program.pid)
	require.NoError(t, err)
	s, err := p.Attach(attach.Options{RingSize: attach.MinRing, Patterns: []string{"ue_env"}, Expires: attach.Now() + uint64(10*time.Minute)})
	require.NoError(t, err)
	for range 2 {
		before := attach.Now()
		require.Equal(t, "wrote", program.asked("write 1000 12"))
		list := s.Read()
		require.NotEmpty(t, list)
		for _, rec := range list {
			assert.GreaterOrEqual(t, rec.Time, before)
			assert.LessOrEqual(t, rec.Time, attach.Now())
		}
		require.Equal(t, "enabled=true", program.asked("enabled"), "the expiry is that of the program's clock")
		assert.Zero(t, s.Renew(10*time.Minute))
	}
	require.NoError(t, errors.Join(s.Detach(), p.Close()))
	require.Equal(t, "closed", program.asked("close"))
	program.end()
}

// TestHiddenControl: a tool can take the permissions of the control file away, and so hide a program from tools without capabilities. They
// say which one.
func TestHiddenControl(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program", attr: as(user)})
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", program.pid))
	require.NoError(t, err)
	hidden := 0
	for _, file := range files {
		if target, _ := os.Readlink(file); strings.Contains(target, layout.ControlName) {
			require.NoError(t, os.Chmod(file, 0))
			hidden++
		}
	}
	require.Equal(t, 1, hidden)
	tool := startReady(t, childOptions{role: "tool", attr: as(user)})
	assert.Contains(t, tool.asked("attach %d 65536", program.pid), "its events in shared memory cannot be used: "+layout.ControlName+": ")
	tool.end()
	require.Equal(t, "closed", program.asked("close"))
	program.end()
}

// asRoot skips a test of other users, namespaces and control groups where it cannot have them.
func asRoot(t *testing.T) {
	t.Helper()
	testscale.NeedRoot(t, "to run children as other users and in namespaces")
}

// mustServe attaches a tool, which gets the records of a program.
func mustServe(t *testing.T, tool, program *child) {
	t.Helper()
	require.Equal(t, "attached", tool.asked("attach %d 65536", program.pid))
	require.Equal(t, "wrote", program.asked("write 10 12"))
	require.Equal(t, "read 10 lost 0", tool.asked("read 10"))
	require.Equal(t, "detached", tool.asked("detach"))
}

// TestNoGoroutine: a program has no goroutine and no thread of the transport, also while a tool is attached.
func TestNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	p := openSubject(t)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "registered")
	a, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	s, err := a.Attach(attach.Options{Patterns: []string{"ue_env"}})
	require.NoError(t, err)
	p.write(10, 12)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "with a tool")
	assert.Len(t, s.Read(), 10)
	require.NoError(t, errors.Join(s.Detach(), a.Close()))
	p.close(t)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "closed")
}

// TestReadOnlyRoot: a program needs no directory that it can write to, no /proc and no /dev.
func TestReadOnlyRoot(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program", setup: "root", attr: &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}})
	tool := startReady(t, childOptions{role: "tool"})
	mustServe(t, tool, program)
	require.Equal(t, "closed", program.asked("close"))
	program.end()
	tool.end()
}

// TestLimits: a limit that leaves no room for the memory is an error that names it, and the program goes on.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ setup, says string }{
		{"fsize=0", "RLIMIT_FSIZE"},
		{"fsize=1000000", "RLIMIT_FSIZE"},
		{"fsize=" + strconv.Itoa(layout.FileSize-1), "RLIMIT_FSIZE"},
		{"fsize=" + strconv.Itoa(layout.FileSize), ""},
		{"space=100000000", "RLIMIT_AS"},
		{"space=" + strconv.Itoa(layout.FileSize-1<<20), "RLIMIT_AS"},
		{"nofile=3", "too many open files"},
	} {
		t.Run(c.setup, func(t *testing.T) {
			program := startChild(t, childOptions{role: "program", setup: c.setup})
			said := program.says()
			if c.says == "" {
				assert.Contains(t, said, "ready")
			} else {
				assert.Contains(t, said, "refused: ")
				assert.Contains(t, said, c.says)
				t.Log(said)
			}
			program.end()
		})
	}
}

// TestLimitLowered: a limit that a program lowers between Open and its first event gives an error too, and leaves nothing behind.
func TestLimitLowered(t *testing.T) {
	for _, c := range []struct{ setup, says string }{
		{"fsize=0", "RLIMIT_FSIZE"},
		{"space=100000000", "RLIMIT_AS"},
		{"nofile=4", "too many open files"}, // for one of the files
	} {
		t.Run(c.setup, func(t *testing.T) {
			program := startChild(t, childOptions{role: "lowered", env: []string{envLowered + "=" + c.setup}})
			said := program.says()
			assert.Contains(t, said, "refused: ")
			assert.Contains(t, said, c.says)
			t.Log(said)
			assert.NotContains(t, program.says(), "memfd", "left behind")
			program.end()
		})
	}
}

// TestBrief: programs that end at once are no trouble for themselves nor for a tool that looks at them at any moment.
func TestBrief(t *testing.T) {
	attached := 0
	for range testscale.Count(50, 10) {
		program := startChild(t, childOptions{role: "brief"})
		done := make(chan error)
		go func() { done <- program.cmd.Wait() }()
		for ended := false; !ended; {
			select {
			case err := <-done:
				require.NoError(t, err)
				ended = true
			default:
				p, err := attach.Open(program.pid)
				if err != nil {
					continue // nothing there yet, or no longer
				}
				s, err := p.Attach(attach.Options{Patterns: []string{"ue_env"}, RingSize: layout.MinRing})
				require.NoError(t, err)
				attached++
				s.Read()
				require.NoError(t, errors.Join(s.Detach(), p.Close()))
			}
		}
		_, err := attach.Open(program.pid)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	t.Logf("attached %d times", attached)
}

// TestToolWithoutSpace: a tool that cannot map the memory gets an error, and leaves nothing behind.
func TestToolWithoutSpace(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it takes more address space than the tool may have")
	}
	program := startReady(t, childOptions{role: "program"})
	for _, c := range []struct{ left, size int }{
		{1 << 20, layout.MinRing},           // for the files
		{layout.DataSize + 4<<20, 64 << 20}, // for the rings
	} {
		tool := startReady(t, childOptions{role: "tool", setup: "space=" + strconv.Itoa(c.left)})
		before := tool.asked("files")
		assert.Contains(t, tool.asked("attach %d %d", program.pid, c.size), "cannot allocate memory")
		assert.Equal(t, before, tool.asked("files"))
		tool.end()
	}
	other := startReady(t, childOptions{role: "tool"})
	mustServe(t, other, program)
	other.end()
	program.end()
}
