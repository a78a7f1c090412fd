//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"github.com/userevents/userevents-go/internal/memory/attachtest"
	"github.com/userevents/userevents-go/internal/testscale"
)

func init() {
	surroundings["user"] = dropRoot
	surroundings["user namespace"] = readOnlyRoot
	surroundings["capabilities"] = keepCapabilities
}

// TestMemoryRights: with the capabilities of daemonset.yaml alone, a Collector outside reads programs that have mount and PID namespaces
// of their own and a root that is read-only, with a user namespace and without, and knows their processes and containers. Without one of
// the capabilities that are for shared memory it says so, omits programs, and reads others; the other capabilities make no difference. Without the host's process ids it reads none.
func TestMemoryRights(t *testing.T) {
	testscale.HostOnly(t)
	testscale.NeedRoot(t, "to run programs in namespaces and control groups")
	granted := daemonSet(t).Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add
	needed := []core.Capability{"SYS_PTRACE", "DAC_READ_SEARCH"}
	assert.Subset(t, granted, needed)
	for _, c := range []struct {
		name         string
		capabilities []core.Capability
		missing      string
		read         []string // kinds of programs that are read
		process      *syscall.SysProcAttr
	}{
		{"all", granted, "", []string{"user", "user namespace", "plain"}, nil},
		{"no more than needed", needed, "", []string{"user", "user namespace", "plain"}, nil},
		// Root has all capabilities in a user namespace that root has made, as the runtimes of containers do.
		{"without SYS_PTRACE", without(granted, "SYS_PTRACE"), "CAP_SYS_PTRACE", []string{"user namespace", "plain"}, nil},
		{"without DAC_READ_SEARCH", without(granted, "DAC_READ_SEARCH"), "CAP_DAC_READ_SEARCH", []string{"plain"}, nil},
		{"without hostPID", granted, `the host's process ids \(hostPID: true\)`, nil, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const records = 100
			processes, containers := map[string]int{}, map[string]int{}
			var read, omitted []*program
			add := func(kind string, p *program, container string) {
				if !slices.Contains(c.read, kind) {
					omitted = append(omitted, p)
					return
				}
				read = append(read, p)
				containers[container] = records
				processes[strconv.Itoa(p.cmd.Process.Pid)] = records
			}
			for _, kind := range []string{"user", "user namespace"} {
				p := startContained(t, kind, records)
				add(kind, p, contain(t, p))
			}
			// This one has the Collector's user, and no capabilities.
			add("plain", launchAnyhow(t, "slog", records, 0, nil, append(memoryEnv, confine()...)...), "")
			collector := start(t, settings{
				receivers: inMemory, sink: "    detailed: true", process: c.process,
				command: append(append([]string{"env"}, confine(c.capabilities...)...), envWriter+"=exec", os.Args[0]),
			})
			collector.until("it has looked at all programs", func() bool { return collector.scrape().sum(available) > 0 })
			collector.attachedTo(read...)
			for _, p := range read {
				p.start()
				assert.Equal(t, records, p.end()[memoryName+"_slog_info"])
			}
			collector.until("all records have arrived", func() bool { return collector.received().Logs == len(read)*records })
			for _, p := range omitted {
				s, err := attachtest.Of(p.cmd.Process.Pid, collector.cmd.Process.Pid)
				require.NoError(t, err)
				assert.Len(t, s.Events, 4)
				assert.Empty(t, s.Sessions)
			}
			if c.missing == "" {
				assert.NotContains(t, collector.said(), "omitted")
			} else {
				assert.Regexp(t, `omitted if .*"missing": \["`+c.missing+`"\]`, collector.said())
			}
			collector.end()
			r := collector.received()
			assert.Equal(t, len(read)*records, r.Logs)
			if len(read) > 0 {
				assert.Equal(t, processes, r.Processes)
				assert.Equal(t, containers, r.Containers)
				assert.Equal(t, map[string]int{"collectortest.test": r.Logs}, r.Programs)
			}
		})
	}
}

func without(list []core.Capability, c core.Capability) []core.Capability {
	return slices.DeleteFunc(slices.Clone(list), func(other core.Capability) bool { return other == c })
}

// startContained starts a writer in mount and PID namespaces of its own, in a root that is empty and read-only: as a user, or as root of a
// user namespace.
func startContained(t *testing.T, kind string, records int) *program {
	p := &program{tb: t}
	p.cmd = exec.Command("/proc/self/exe", "", "", strconv.Itoa(records), "0") // which any user may execute
	p.cmd.Env = append(append(os.Environ(), memoryEnv...), envWriter+"=slog", envSurroundings+"="+kind)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if kind == "user namespace" {
		const first = 100_000 // of its user ids: no process outside has them
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: first, Size: 65536}}
		a := p.cmd.SysProcAttr
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups, a.Credential = ids, ids, true, &syscall.Credential{}
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.said
	input, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.input = input
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	testscale.Eventually(t, func() bool {
		s, err := attachtest.Of(p.cmd.Process.Pid, 0)
		return err == nil && len(s.Events) == 4
	}, "the program offers no events: %s", &p.said)
	return p
}

// dropRoot makes the process one of a user, as a runtime does that executes the program afterwards.
func dropRoot() error {
	const user, setDumpable = 1000, 4 // include/uapi/linux/prctl.h
	return inOrder(
		readOnlyRoot,
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setgid(user) },
		func() error { return syscall.Setuid(user) },
		func() error { return prctl(setDumpable, 1) })
}

// readOnlyRoot gives the process, which has a mount namespace, a root without files, and no /proc.
func readOnlyRoot() error {
	const dir = "/tmp" // what is there stays as it is for others
	return inOrder(
		func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755") },
		func() error {
			return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
		},
		func() error { return syscall.Chroot(dir) },
		func() error { return os.Chdir("/") },
		func() error {
			if err := os.WriteFile("/x", nil, 0o600); !errors.Is(err, syscall.EROFS) {
				return fmt.Errorf("writing into a root that is read-only: %w", err)
			}
			return nil
		})
}

func inOrder(steps ...func() error) error {
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// contain moves a program to the control group of a container, and returns the container's id.
func contain(t *testing.T, p *program) string {
	base := "/sys/fs/cgroup"
	if _, err := os.Stat(base + "/memory/cgroup.procs"); err == nil { // version 1
		base += "/memory"
	}
	id := fmt.Sprintf("%064x", p.cmd.Process.Pid)
	dir := filepath.Join(base, "cri-containerd-"+id+".scope")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		testscale.Eventually(t, func() bool { return os.Remove(dir) == nil }, "%s has processes", dir)
	})
	t.Cleanup(p.kill) // before that
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0))
	return id
}

// envCapabilities are the numbers of the capabilities that a process keeps.
const envCapabilities = "COLLECTORTEST_CAPABILITIES"

// confine returns the environment of this test binary that makes it keep capabilities only.
func confine(capabilities ...core.Capability) []string {
	numbers := map[core.Capability]int{"DAC_READ_SEARCH": 2, "IPC_LOCK": 14, "SYS_PTRACE": 19, "PERFMON": 38} // include/uapi/linux/capability.h
	var list []string
	for _, c := range capabilities {
		list = append(list, strconv.Itoa(numbers[c]))
	}
	return []string{envSurroundings + "=capabilities", envCapabilities + "=" + strings.Join(list, ",")}
}

// keepCapabilities executes the arguments as root with some capabilities, as the runtimes of containers do: this program, or with the
// writer exec another one.
func keepCapabilities() error {
	if os.Getpid() == 1 { // in a PID namespace, which needs its own /proc
		if err := inOrder(
			func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
			func() error { return syscall.Mount("proc", "/proc", "proc", 0, "") }); err != nil {
			return err
		}
	}
	keep := strings.Split(os.Getenv(envCapabilities), ",")
	runtime.LockOSThread() // which has the capabilities
	for c := 0; ; c++ {
		if slices.Contains(keep, strconv.Itoa(c)) {
			continue
		}
		if err := prctl(syscall.PR_CAPBSET_DROP, uintptr(c)); errors.Is(err, syscall.EINVAL) {
			break // there are no more
		} else if err != nil {
			return err
		}
	}
	const noNewPrivileges = 38 // include/uapi/linux/prctl.h
	if err := prctl(noNewPrivileges, 1); err != nil {
		return err
	}
	if err := os.Unsetenv(envSurroundings); err != nil {
		return err
	}
	args := os.Args
	if os.Getenv(envWriter) == "exec" {
		args = args[1:]
	}
	return syscall.Exec(args[0], args, os.Environ())
}

func prctl(operation, argument uintptr) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, operation, argument, 0); errno != 0 {
		return errno
	}
	return nil
}
