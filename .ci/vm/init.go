package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// initGuest is process 1 of a guest. It prepares the machine, runs the programs that the host asks for, and tells it how each
// ended, until the host ends the guest. If it fails, the kernel panics on its end, and the host shows the console.
func initGuest(args []string) error {
	if os.Getpid() != 1 || len(args) != 1 {
		return errors.New("init is for the guest's kernel to call")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if err := setUp(s); err != nil {
		return fmt.Errorf("set up the guest: %w", err)
	}
	if s.Shell {
		return shell(s)
	}
	port, err := openPort(s)
	if err != nil {
		return err
	}
	if !s.Counting {
		return serve(s, port)
	}
	if err := answer(s, s.Job, port, runAlone); err != nil {
		return err
	}
	for {
		time.Sleep(time.Hour)
	}
}

// serve runs the programs that the host asks for, one after the other.
func serve(s settings, port *os.File) error {
	// A serial line loses what comes before it is open.
	if _, err := fmt.Fprintf(port, "%s0\n", s.Mark); err != nil {
		return err
	}
	var running atomic.Int64 // the id of the program's process, or 0
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		next := unix.SIGQUIT
		for lines := json.NewDecoder(port); ; {
			var j job
			if lines.Decode(&j) != nil {
				return
			}
			if len(j.Args) > 0 {
				next = unix.SIGQUIT
				jobs <- j
				continue
			}
			// A Go program that gets SIGQUIT prints its goroutines; if that does not end it, the host asks again.
			if pid := running.Load(); pid != 0 {
				_ = unix.Kill(-int(pid), next)
			}
			next = unix.SIGKILL
		}
	}()
	run := func(cmd *exec.Cmd, port *os.File) (status int, err error) {
		cmd.Stdout, cmd.Stderr = port, port
		if err := cmd.Start(); err != nil {
			_, printed := fmt.Fprintln(port, err)
			return 127, printed
		}
		running.Store(int64(cmd.Process.Pid))
		defer running.Store(0)
		return waitFor(cmd.Process.Pid)
	}
	if s.AsHost {
		program := run
		run = func(cmd *exec.Cmd, port *os.File) (int, error) { return asHost(cmd, port, program) }
	}
	for j := range jobs {
		if err := answer(s, j, port, run); err != nil {
			return err
		}
	}
	return errors.New("the host sends no requests any more")
}

// answer runs a program and tells the host how it ended. The next program finds the guest without processes, events and trace
// instances of this one.
func answer(s settings, j job, port *os.File, run func(*exec.Cmd, *os.File) (int, error)) error {
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Dir, cmd.Env = j.Dir, append(j.Env, "PWD="+j.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// This line divides the console log. Without it, only more of the log is shown.
	_ = os.WriteFile("/dev/kmsg", []byte(startMark+"\n"), 0)
	status, err := run(cmd, port)
	if err != nil {
		return err
	}
	tidy()
	_, err = fmt.Fprintf(port, "%s%d\n", s.Mark, status)
	return err
}

// tidy ends all other processes, and removes what they have left in tracefs. What is still in use then belongs to a kernel that
// is about to remove it.
func tidy() {
	_ = unix.Kill(-1, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	instances, _ := filepath.Glob(tracing + "/instances/*") // the pattern is well-formed
	for _, dir := range instances {
		_ = os.Remove(dir)
	}
	_ = os.WriteFile(tracing+"/dynamic_events", nil, 0) // truncating removes all
}

// waitFor waits for the end of a child, and buries whatever orphans it leaves behind.
func waitFor(pid int) (status int, err error) {
	for {
		var ws unix.WaitStatus
		ended, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for process %d: %w", pid, err)
		case ended == pid && ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ended == pid && ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}

// asHost runs a program in a guest that plays a machine that is no guest, and fails it if the
// machine is not what it was before.
func asHost(cmd *exec.Cmd, port *os.File, run func(*exec.Cmd, *os.File) (int, error)) (status int, err error) {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "USEREVENTS_") && v != emulated })
	before, err := snapshot(cmd.Env)
	if err != nil {
		return 0, err
	}
	if status, err = run(cmd, port); err != nil {
		return 0, err
	}
	// The kernel deletes events in the background.
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		after, err := snapshot(cmd.Env)
		if err != nil || slices.Equal(before, after) {
			return status, err
		}
		if time.Now().After(end) {
			printChanges(port, "-", before, after)
			printChanges(port, "+", after, before)
			return max(status, 1), nil
		}
	}
}

// printChanges prints the lines that only the first of two snapshots has.
func printChanges(port *os.File, sign string, snap, other []string) {
	for _, line := range snap {
		if _, found := slices.BinarySearch(other, line); !found {
			fmt.Fprintf(port, "# this machine changed: %s %s\n", sign, line)
		}
	}
}

// snapshotScript prints what of the machine's state tests could change and must not: files of tracefs with modes, owners and some
// contents, trace instances, sysctls but for those that change by themselves, mounts, AppArmor profiles. There are thousands of files in the
// directories of the kernel's own events; what is enabled of them is in set_event.
const snapshotScript = `
t=` + tracing + `
find $t -printf '%p: %M %U:%G\n' -type d -path "$t/events/*/*" ! -path "$t/events/user_events*" -prune
for file in dynamic_events user_events_status set_event set_event_pid set_ftrace_pid current_tracer tracing_on trace_clock trace_options \
  buffer_size_kb uprobe_events kprobe_events; do grep -sH '' $t/$file; done
grep -rasH '' /proc/sys --exclude-dir=random --exclude=ns_last_pid --exclude=nr --exclude=dentry-state --exclude='inode-*' --exclude=file-nr
grep -sH '' /proc/self/mounts /sys/kernel/security/apparmor/profiles
true`

// snapshot returns the state, a sorted list of lines.
func snapshot(env []string) ([]string, error) {
	cmd := exec.Command("/bin/sh", "-c", snapshotScript)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	return slices.Sorted(strings.SplitSeq(string(out), "\n")), nil
}

const (
	tracing = "/sys/kernel/tracing"
	// guestHome is the home directory of tests: empty, so that no configuration of the host
	// changes what perf or trace-cmd print.
	guestHome = "/run/home"
)

func setUp(s settings) error {
	if !s.Counting {
		if err := writableRoot(); err != nil {
			return err
		}
	}
	if err := mountAll(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("kernel-" + strings.ReplaceAll(s.Kernel, ".", "-"))); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	return loopbackUp()
}

// writableRoot covers the host's root directory with a layer in memory. Tests may then write wherever they like, and the host,
// which exports its files read-only, never sees it.
func writableRoot() error {
	const layer = "/proc" // a directory that each root has
	if err := unix.Mount("tmpfs", layer, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", layer, err)
	}
	upper, work, root := layer+"/upper", layer+"/work", layer+"/root"
	for _, dir := range []string{upper, work, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return fmt.Errorf("mount overlay on %s: %w", root, err)
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move %s to /: %w", root, err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot to %s: %w", root, err)
	}
	// Under User Mode Linux, the guest's root has the host's files with the rights of the user who runs it. Programs that add users and
	// groups open these, if they exist.
	for _, name := range []string{"/etc/.pwd.lock", "/etc/shadow", "/etc/gshadow"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Chdir("/")
}

func mountAll() error {
	for _, m := range []struct{ kind, target, options string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devtmpfs", "/dev", ""},
		{"devpts", "/dev/pts", "ptmxmode=666"},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"tmpfs", "/run", "mode=755"},
		{"tracefs", tracing, ""},
		{"debugfs", "/sys/kernel/debug", ""},
		{"securityfs", "/sys/kernel/security", ""},
		{"cgroup2", "/sys/fs/cgroup", ""},
	} {
		// Directories of sysfs are there already; those of /dev are not.
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.target, m.kind, 0, m.options); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2",
	} {
		if err := os.Symlink(target, filepath.Join("/dev", name)); err != nil {
			return err
		}
	}
	return os.Mkdir(guestHome, 0o700)
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring up lo: %w", err)
	}
	return nil
}

const (
	// virtioPort is what a program writes to in a machine: the first port of the first virtio device.
	virtioPort = "/dev/vport0p1"
	// serialLine is what it writes to under a kernel that is a program of the host.
	serialLine = "/dev/ttyS0"
)

// openPort opens the guest's end of the connection to the host, as a blocking file: test binaries expect that of their output.
func openPort(s settings) (*os.File, error) {
	name := virtioPort
	if isUML(s.Kernel) {
		name = serialLine
	}
	fd, err := -1, error(nil)
	for range 500 { // the kernel adds ports a little after it started process 1
		if fd, err = unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if name == serialLine { // which is to change no byte
		raw := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B38400}
		raw.Cc[unix.VMIN] = 1
		if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
			return nil, fmt.Errorf("set up %s: %w", name, err)
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// shell runs the program of a shell on the guest's terminal, and switches the machine off.
func shell(s settings) error {
	name := "/dev/hvc0"
	if isUML(s.Kernel) {
		name = serialLine
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.Job.Args[0], s.Job.Args[1:]...)
	cmd.Dir, cmd.Env = s.Job.Dir, s.Job.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := waitFor(cmd.Process.Pid); err != nil {
		return err
	}
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
