package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
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

// A guest that counts instructions boots from an archive that has this program, the settings and the test binary, at paths that
// are always the same: a read from the host takes a number of instructions that varies.
const (
	initrdInit     = "/vm"
	initrdSettings = "/job.json"
	initrdProgram  = "/tests/000"
)

func writeInitrd(m machine, s settings) error {
	program := s.Job.Args[0]
	s.Job.Args = append([]string{initrdProgram}, s.Job.Args[1:]...)
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	a := archive{has: map[string]bool{"/": true}}
	a.add("/tmp", modeDir|0o755, 0, nil)
	// What the kernel opens for process 1, before that mounts anything.
	a.add("/dev/console", modeCharDevice|0o600, 5<<8|1, nil)
	files := [][2]string{{initrdInit, m.init}, {initrdProgram, program}}
	for _, file := range m.files {
		files = append(files, [2]string{file, file})
	}
	for _, file := range files {
		content, err := os.ReadFile(file[1])
		if err != nil {
			return err
		}
		a.add(file[0], modeFile|0o755, 0, content)
	}
	a.add(s.Job.Dir, modeDir|0o755, 0, nil)
	a.add(initrdSettings, modeFile|0o644, 0, text)
	a.add("/TRAILER!!!", 0, 0, nil)
	return os.WriteFile(m.initrd(), a.Bytes(), 0o644)
}

// archive is a cpio archive in the "newc" format, which the kernel unpacks into its first root directory
// (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	bytes.Buffer
	has map[string]bool
}

// Types of files, stat(2).
const (
	modeDir        = 0o040000
	modeFile       = 0o100000
	modeCharDevice = 0o020000
)

// add adds a file of any type, and the directories above it. Device numbers are for devices, content is for regular files.
func (a *archive) add(name string, mode, device uint32, content []byte) {
	if dir := path.Dir(name); !a.has[dir] {
		a.add(dir, modeDir|0o755, 0, nil)
	}
	if a.has[name] {
		return
	}
	a.has[name] = true
	const links, root, time, checksum = 1, 0, 0, 0
	name = strings.TrimPrefix(name, "/")
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		len(a.has), mode, root, root, links, time, len(content), 0, 0, device>>8, device&0xff, len(name)+1, checksum, name)
	a.pad()
	a.Write(content)
	a.pad()
}

func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }
