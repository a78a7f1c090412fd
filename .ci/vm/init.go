package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// startMark separates, in the console log, what the kernel said while it booted
// from what it said while tests ran.
const startMark = "userevents-vm: start"

// initGuest is process 1 of a guest. It prepares the machine, lets a second
// process work on the job, buries whatever orphans that leaves behind and powers
// off. If it fails, the kernel panics on its end, and the host shows the console.
func initGuest(args []string) error {
	if os.Getpid() != 1 || len(args) != 1 {
		return errors.New("init is for the guest's kernel to call")
	}
	if err := setUp(args[0]); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		return fmt.Errorf("power off: %w", err)
	}
	return nil
}

func setUp(jobFile string) error {
	j, err := readJob(jobFile)
	if err != nil {
		return err
	}
	if !j.Counting { // whose root directory is in memory anyway
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
	if err := loopbackUp(); err != nil {
		return err
	}
	worker, err := os.StartProcess(os.Args[0], []string{os.Args[0], "work", jobFile}, &os.ProcAttr{
		Env:   j.Env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if pid == worker.Pid || (err != nil && !errors.Is(err, syscall.EINTR)) {
			return nil
		}
	}
}

func readJob(file string) (job, error) {
	var j job
	data, err := os.ReadFile(file)
	if err != nil {
		return j, fmt.Errorf("read the job: %w", err)
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return j, fmt.Errorf("read the job: %w", err)
	}
	return j, nil
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
