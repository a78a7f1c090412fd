package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// accel is what executes a guest's instructions.
type accel string

const (
	// accelKVM is the host's processor.
	accelKVM accel = "kvm"
	// accelTCG is QEMU's translator. It works everywhere.
	accelTCG accel = "tcg"
	// accelCount is the translator counting: a guest nanosecond is one
	// instruction, on one processor, whatever else the host does.
	accelCount accel = "icount"
	// accelShared counts, too, in a guest with the host's files and several programs: processor time is in instructions, whatever
	// else the host does, and a second without work is one of the host. Counts do not repeat to the digit.
	accelShared accel = "icount-shared"
	// accelUML is User Mode Linux: the kernel is a program of the host. A kernel is built for it, or for the others.
	accelUML accel = "uml"
)

func (a *accel) String() string { return string(*a) }

// Set is for package flag.
func (a *accel) Set(value string) error {
	switch *a = accel(value); *a {
	case "", accelKVM, accelTCG, accelCount, accelShared, accelUML:
		return nil
	}
	return errors.New("it is kvm, tcg, icount, icount-shared or uml")
}

// machine is a guest to start.
type machine struct {
	kernel   string // its name
	image    string // its file
	accel    accel
	cmdline  string // more for the kernel's command line
	init     string // what runs as process 1, in the host's file system
	jobFile  string // also in the host's file system
	initrd   string // archive of a guest whose root directory is in memory
	console  string // file that receives the kernel's console
	terminal bool   // connect the virtio console to this process's terminal

	with []string // names of programs that a root directory in memory has besides the test binary
}

// arm reports whether the guest's processor is an arm64 one.
func (m machine) arm() bool { return strings.HasSuffix(m.kernel, "-arm64") }

// uml reports whether the kernel is a program of the host.
func (m machine) uml() bool { return strings.HasSuffix(m.kernel, "-uml") }

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

func (m machine) qemuArch() string {
	if m.arm() {
		return "aarch64"
	}
	return "x86_64"
}

// inMemory reports whether the guest's root directory is an archive in place of the host's.
func (m machine) inMemory() bool { return m.accel == accelCount }

// prepare makes what m needs to boot: the kernel's image and this program for the guest. It
// chooses an accelerator if none is.
func (m *machine) prepare() error {
	root, err := repository()
	if err != nil {
		return err
	}
	if m.accel != "" && m.uml() != (m.accel == accelUML) {
		return fmt.Errorf("kernel %s does not run under %s", m.kernel, m.accel)
	}
	build := exec.Command(filepath.Join(root, ".ci", "kernel", "build.sh"), m.kernel)
	build.Stderr = os.Stderr
	image, err := build.Output()
	if err != nil {
		return fmt.Errorf("build kernel %s: %w", m.kernel, err)
	}
	m.image = strings.TrimSpace(string(image))
	if m.init == "" {
		if m.init, err = buildInit(root, m.goArch()); err != nil {
			return err
		}
	}
	switch {
	case m.accel != "":
	case m.uml():
		m.accel = accelUML
	case m.goArch() != runtime.GOARCH:
		m.accel = accelTCG
	default:
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		m.accel, err = chooseAccel("/dev/kvm", filepath.Join(cache, "userevents-go"), func() (accel, error) { return tryKVM(*m) })
		if err != nil {
			return fmt.Errorf("try KVM: %w", err)
		}
	}
	return nil
}

// repository returns the directory above this one that has the runner's source.
func repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".ci", "vm")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("run this inside of the repository: no directory above has .ci/vm")
			return "", err
		}
	}
	return "", err
}

// buildInit returns this program for a processor. It is kept where it is built, so that go
// build has nothing to do the next time.
func buildInit(root, arch string) (string, error) {
	if arch == runtime.GOARCH {
		return os.Executable()
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(cache, "userevents-go", "vm-"+arch)
	build := exec.Command("go", "build", "-o", file, "./.ci/vm")
	build.Dir, build.Env, build.Stderr = root, append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+arch), os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build process 1 of the guest: %w", err)
	}
	return file, nil
}

// command returns the program that is the machine: QEMU, or the kernel itself.
func (m machine) command() (*exec.Cmd, error) {
	if !m.uml() {
		return exec.Command("qemu-system-"+m.qemuArch(), m.args()...), nil
	}
	console, err := os.Create(m.console)
	if err != nil {
		return nil, err
	}
	// The kernel asks for consoles and lines by the number of a descriptor.
	port := "fd:4,fd:5"
	if m.terminal {
		port = "fd:0,fd:1"
	}
	args := []string{
		"mem=2G", "uml_dir=" + filepath.Dir(m.console), "seccomp=auto", "con=null", "con0=null,fd:3", "ssl=null", "ssl0=" + port,
		"console=tty0", "oops=panic", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=" + m.init,
	}
	args = append(args, strings.Fields(m.cmdline)...)
	cmd := exec.Command(m.image, append(args, "--", "init", m.jobFile)...)
	cmd.ExtraFiles = []*os.File{console}
	// Its memory is a file in /dev/shm, or in TMPDIR. A container's /dev/shm is small.
	if shm := (unix.Statfs_t{}); unix.Statfs("/dev/shm", &shm) != nil || int64(shm.Bavail)*shm.Bsize < 4<<30 {
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(m.console))
	}
	return cmd, nil
}

// args returns the arguments of QEMU.
func (m machine) args() []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", "2048",
		"-kernel", m.image,
		"-append", m.kernelArgs(),
		"-chardev", "file,id=console,path=" + escape(m.console), "-serial", "chardev:console",
		// Without ioeventfd QEMU does what the guest asks for at once, instead of a little later.
		"-device", "virtio-serial-pci,ioeventfd=off",
	}
	if m.terminal {
		// With signal=off the keys that would stop QEMU reach the guest; with mux=on Ctrl-A X
		// stops it.
		args = append(args, "-chardev", "stdio,id=terminal,signal=off,mux=on", "-device", "virtconsole,chardev=terminal")
	} else {
		args = append(args, "-chardev", "stdio,id=output,signal=off", "-device", "virtserialport,chardev=output,name="+portName)
	}
	if m.arm() {
		args = append(args, "-M", "virt")
	}
	if m.inMemory() {
		args = append(args, "-initrd", m.initrd)
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
	}
	return args
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
	jobFile := m.jobFile
	if m.inMemory() {
		words = append(words, "rdinit="+initrdInit)
		jobFile = initrdJob
	} else {
		words = append(words, "root=rootfs", "rootfstype=9p",
			"rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose", "ro", "init="+m.init)
	}
	if m.cmdline != "" {
		words = append(words, m.cmdline)
	}
	return strings.Join(append(words, "--", "init", jobFile), " ")
}

// escape protects a comma in the value of a QEMU option.
func escape(value string) string { return strings.ReplaceAll(value, ",", ",,") }

// check refuses paths that a kernel command line cannot carry.
func (m machine) check() error {
	for _, path := range []string{m.init, m.jobFile} {
		if strings.ContainsAny(path, " \t\"") {
			return fmt.Errorf("the kernel command line cannot name %q: set TMPDIR to a path without spaces or quotes", path)
		}
	}
	return nil
}
