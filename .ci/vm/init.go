package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// initGuest is process 1 of a guest. It prepares the machine, runs the job's program, and tells
// the host how that ended. The host then ends the guest. If it fails, the kernel panics on
// its end, and the host shows the console.
func initGuest(args []string) error {
	if os.Getpid() != 1 || len(args) != 1 {
		return errors.New("init is for the guest's kernel to call")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var j job
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	if err := setUp(j); err != nil {
		return fmt.Errorf("set up the guest: %w", err)
	}
	if len(j.Args) == 0 {
		if err := runShell(j); err != nil {
			return err
		}
		return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Dir, cmd.Env = j.Dir, append(j.Env, "PWD="+j.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run := runProgram
	switch {
	case j.Counting:
		run = runAlone
	case j.AsHost:
		run = asHost
	}
	// This line divides the console log. Without it, only more of the log is shown.
	_ = os.WriteFile("/dev/kmsg", []byte(startMark+"\n"), 0)
	status, err := run(cmd, port)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(port, "%s%d\n", j.Mark, status); err != nil {
		return err
	}
	for {
		time.Sleep(time.Hour)
	}
}

// runProgram runs a program that prints to port, which also says when it is to stop.
func runProgram(cmd *exec.Cmd, port *os.File) (status int, err error) {
	cmd.Stdout, cmd.Stderr = port, port
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go obey(port, cmd.Process.Pid)
	return waitFor(cmd.Process.Pid)
}

// obey stops a program when the host asks for it. A Go program that gets SIGQUIT prints its
// goroutines; if that does not end it, the host asks again.
func obey(port *os.File, pid int) {
	next := unix.SIGQUIT
	for buf := make([]byte, 1); ; next = unix.SIGKILL {
		if n, err := port.Read(buf); err != nil || n == 0 {
			return
		}
		_ = unix.Kill(-pid, next)
	}
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
func openPort() (*os.File, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range names {
			name, err := os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(name)) == portName {
				device := filepath.Join("/dev", filepath.Base(filepath.Dir(file)))
				fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
				if err != nil {
					return nil, fmt.Errorf("open %s: %w", device, err)
				}
				return os.NewFile(uintptr(fd), device), nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("no virtio port %q appeared", portName)
}

// runShell runs bash on the virtio console and waits for its end.
func runShell(j job) error {
	tty, err := os.OpenFile("/dev/hvc0", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if j.Rows > 0 {
		size := &unix.Winsize{Row: j.Rows, Col: j.Cols}
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, size); err != nil {
			return fmt.Errorf("set the size of the terminal: %w", err)
		}
	}
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Env = j.Dir, j.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = waitFor(cmd.Process.Pid)
	return err
}

func setUp(j job) error {
	if !j.Memory {
		if err := writableRoot(); err != nil {
			return err
		}
	}
	if err := mountAll(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("kernel-" + strings.ReplaceAll(j.Kernel, ".", "-"))); err != nil {
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
