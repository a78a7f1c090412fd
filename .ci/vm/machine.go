package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The values of machine.accel: what executes a guest's instructions.
const (
	accelKVM = "kvm" // the host's processor
	accelTCG = "tcg" // QEMU's translator, which works everywhere
	// accelCount is the translator that counts: a guest nanosecond is one instruction, on one processor, whatever else the
	// host does. The root directory of such a guest is an archive in its memory.
	accelCount = "icount"
	// accelShared counts in a guest with the host's files and several programs: processor time is in instructions, and a
	// second without work is one of the host. Counts do not repeat to the digit.
	accelShared = "icount-shared"
)

// machine is a guest to start.
type machine struct {
	kernel   string        // its name
	accel    string        // of QEMU
	cmdline  string        // more for the kernel's command line
	image    string        // file of the kernel
	init     string        // file of what runs as process 1
	files    []string      // of the host, which an archive in memory has besides the test binary
	terminal bool          // connect the guest's terminal to this process's
	dir      string        // for the guest's files
	patience time.Duration // how long the boot may take
}

// isUML reports whether a kernel is a program of the host (User Mode Linux).
func isUML(kernel string) bool { return strings.HasSuffix(kernel, "-uml") }

func (m machine) arm() bool { return strings.HasSuffix(m.kernel, "-arm64") }

// goArch is the machine's GOARCH.
func (m machine) goArch() string {
	switch {
	case m.kernel == "":
		return runtime.GOARCH
	case m.arm():
		return "arm64"
	}
	return "amd64"
}

// The guest's files in its directory.
func (m machine) settings() string { return filepath.Join(m.dir, "settings.json") }
func (m machine) console() string  { return filepath.Join(m.dir, "console.log") }
func (m machine) initrd() string   { return filepath.Join(m.dir, "initrd") }

// command returns the program that is the machine: QEMU, or the kernel itself.
func (m machine) command() (*exec.Cmd, error) {
	for _, path := range []string{m.init, m.dir} {
		if strings.ContainsAny(path, " \t\",") {
			return nil, fmt.Errorf("neither a kernel's command line nor QEMU's takes %q: set TMPDIR to a path without spaces, quotes and commas", path)
		}
	}
	if !isUML(m.kernel) {
		args, err := m.qemuArgs()
		return exec.Command("qemu-system-"+map[bool]string{false: "x86_64", true: "aarch64"}[m.arm()], args...), err
	}
	// The kernel knows open files by the numbers of descriptors.
	cmd := exec.Command(m.image, "mem=2G", "uml_dir="+m.dir, "con=null", "con0=null,fd:3", "ssl=null", "ssl0=fd:0,fd:1",
		"console=tty0", "oops=panic", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init="+m.init)
	cmd.Args = append(append(cmd.Args, strings.Fields(m.cmdline)...), "--", "init", m.settings())
	dir, err := memoryDir("/dev/shm", m.dir)
	// The guest's programs start as copies of the kernel, which the C library must not have registered memory of for restartable
	// sequences.
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "GLIBC_TUNABLES=glibc.pthread.rseq=0")
	return cmd, err
}

// memoryDir returns the directory for the memory of a kernel that is a program: a file, from which it maps the code of the
// guest's programs. It is the directory in memory, which a container may have made small, or that of the guest's files.
func memoryDir(inMemory, files string) (string, error) {
	for _, dir := range []string{inMemory, files} {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Flags&unix.MS_NOEXEC == 0 && unix.Access(dir, unix.W_OK) == nil &&
			(dir == files || int64(fs.Bavail)*fs.Bsize >= 4<<30) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("neither %s (which has to have 4 GiB free) nor %s takes the memory of User Mode Linux: "+
		"set TMPDIR to a directory that can be written and is not mounted noexec", inMemory, files)
}

func (m machine) qemuArgs() ([]string, error) {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", "2048",
		"-kernel", m.image,
		"-append", m.kernelArgs(),
		"-chardev", "file,id=console,path=" + m.console(), "-serial", "chardev:console",
		// Without ioeventfd QEMU does what the guest asks for at once, instead of a little later.
		"-device", "virtio-serial-pci,ioeventfd=off",
	}
	if m.terminal {
		// With signal=off the keys that would stop QEMU reach the guest; with mux=on Ctrl-A X stops it.
		args = append(args, "-chardev", "stdio,id=terminal,signal=off,mux=on", "-device", "virtconsole,chardev=terminal")
	} else {
		args = append(args, "-chardev", "stdio,id=output,signal=off", "-device", "virtserialport,chardev=output")
	}
	if m.arm() {
		args = append(args, "-M", "virt")
	}
	if m.accel == accelCount {
		args = append(args, "-initrd", m.initrd())
	} else {
		args = append(args, "-virtfs", "local,path=/,mount_tag=rootfs,security_model=none,readonly=on,multidevs=remap")
	}
	switch m.accel {
	case accelKVM:
		args = append(args, "-accel", "kvm", "-cpu", "host", "-smp", "2")
	case accelTCG:
		args = append(args, "-accel", "tcg", "-cpu", "max", "-smp", "2")
	case accelShared:
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=on", "-cpu", "max", "-smp", "1")
	case accelCount:
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", "max", "-smp", "1",
			// Time and chance are the same in each run.
			"-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1")
	default:
		return nil, fmt.Errorf("no accelerator %q: it is %s, %s, %s or %s", m.accel, accelKVM, accelTCG, accelCount, accelShared)
	}
	return args, nil
}

// kernelArgs returns the kernel's command line.
func (m machine) kernelArgs() string {
	// An oops would leave the guest half alive. A panic ends QEMU, at once (-no-reboot).
	words := []string{"console=ttyS0", "oops=panic", "panic=-1"}
	switch {
	case m.arm():
		words[0] = "console=ttyAMA0"
	case m.accel == accelCount:
		words = append(words, "norandmaps") // every stack at the same address
	default:
		// The kernel waits a moment for the timer's interrupts. On a busy host that is too short.
		words = append(words, "no_timer_check")
	}
	settings := m.settings()
	if m.accel == accelCount {
		words, settings = append(words, "rdinit="+initrdInit), initrdSettings
	} else {
		words = append(words, "root=rootfs", "rootfstype=9p",
			"rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose", "ro", "init="+m.init)
	}
	if m.cmdline != "" {
		words = append(words, m.cmdline)
	}
	return strings.Join(append(words, "--", "init", settings), " ")
}
