package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// portName names the virtio port that the program writes to.
	portName = "userevents"
	// guestHome is the home directory of tests: empty, so that no configuration of the host
	// changes what perf or trace-cmd print.
	guestHome = "/run/home"
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
		if err := shell(s); err != nil {
			return err
		}
		return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
	port, err := openPort(s)
	if err != nil {
		return err
	}
	if s.Counting {
		if err := answer(s, *s.Job, port, runAlone); err != nil {
			return err
		}
		for {
			time.Sleep(time.Hour)
		}
	}
	return serve(s, port)
}

// serve runs the programs that the host asks for, one after the other.
func serve(s settings, port *os.File) error {
	// A serial line loses what comes before it is open.
	if _, err := fmt.Fprintf(port, "%s0\n", s.Mark); err != nil {
		return err
	}
	var running atomic.Int64 // the id of the program's process, or 0
	jobs, failed := make(chan job), make(chan error)
	go func() {
		next := unix.SIGQUIT
		for lines := json.NewDecoder(port); ; {
			var r request
			switch err := lines.Decode(&r); {
			case err != nil:
				failed <- fmt.Errorf("read a request: %w", err)
				return
			case r.Job != nil:
				next = unix.SIGQUIT
				jobs <- *r.Job
			default:
				// A Go program that gets SIGQUIT prints its goroutines; if that does not end it, the host asks again.
				if pid := running.Load(); pid != 0 {
					_ = unix.Kill(-int(pid), next)
				}
				next = unix.SIGKILL
			}
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
	for {
		select {
		case err := <-failed:
			return err
		case j := <-jobs:
			if err := answer(s, j, port, run); err != nil {
				return err
			}
		}
	}
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
	const tracing = "/sys/kernel/tracing/"
	instances, _ := filepath.Glob(tracing + "instances/*") // the pattern is well-formed
	for _, dir := range instances {
		_ = os.Remove(dir)
	}
	_ = os.WriteFile(tracing+"dynamic_events", nil, 0) // truncating removes all
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

// openPort waits for the port: the kernel adds ports a little after it started
// process 1, and there is no udev to name them. The file is a blocking one, as test
// binaries expect of their output.
func openPort(s settings) (*os.File, error) {
	if s.UML {
		return openSerial()
	}
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range names {
			name, err := os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(name)) == portName {
				return openDevice(filepath.Join("/dev", filepath.Base(filepath.Dir(file))))
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no virtio port %q appeared", portName)
}

func openDevice(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// serialLine is the line of a kernel that is a program of the host.
const serialLine = "/dev/ttyS0"

// openSerial opens the serial line, which is to change no byte.
func openSerial() (*os.File, error) {
	port, err := openDevice(serialLine)
	if err != nil {
		return nil, err
	}
	raw := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B38400}
	raw.Cc[unix.VMIN] = 1
	if err := unix.IoctlSetTermios(int(port.Fd()), unix.TCSETS, &raw); err != nil {
		return nil, fmt.Errorf("set up %s: %w", serialLine, err)
	}
	return port, nil
}

// shell runs bash on the terminal and waits for its end.
func shell(s settings) error {
	name := "/dev/hvc0"
	if s.UML {
		name = serialLine
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if s.Rows > 0 {
		size := &unix.Winsize{Row: s.Rows, Col: s.Cols}
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, size); err != nil {
			return fmt.Errorf("set the size of the terminal: %w", err)
		}
	}
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Env = s.Job.Dir, s.Job.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = waitFor(cmd.Process.Pid)
	return err
}

func setUp(s settings) error {
	if !s.Memory {
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

// writableRoot covers the host's root directory with a layer in memory. Tests
// may then write wherever they like, and the host, which
// exports its files read-only, never sees it.
func writableRoot() error {
	const layer = "/run"
	if err := unix.Mount("tmpfs", layer, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", layer, err)
	}
	upper, work, root := layer+"/upper", layer+"/work", layer+"/root"
	for _, dir := range []string{upper, work, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", upper, work)
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
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
		{"tracefs", "/sys/kernel/tracing", ""},
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
