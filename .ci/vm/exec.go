package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// job is what the host asks of a guest. It is a JSON file in the guest's root directory.
type job struct {
	Kernel     string
	Mark       string   // stands before the exit status in the guest's output
	Args       []string // program and arguments; none: a shell
	Dir        string
	Env        []string
	Counting   bool   // nothing may run beside the program
	AsHost     bool   // the program must not know that this is a guest, nor change it
	Memory     bool   // the root directory is an archive in memory already
	Rows, Cols uint16 // of the shell's terminal
}

// bootLimit is generous: a guest is up in 3 s, but a busy host may run many.
const bootLimit = 5 * time.Minute

// runGuest boots a guest for one program, or for a shell.
func runGuest(command string, args []string) error {
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	var m machine
	flags.StringVar(&m.kernel, "kernel", "6.12", "`name` of the kernel, as of .ci/kernel/build.sh")
	flags.StringVar(&m.cmdline, "append", "", "more `words` for the kernel's command line")
	flags.StringVar(&m.init, "init", "", "this `program`, built for the guest (default: it is built)")
	flags.Var(&m.accel, "accel", "`kvm`, tcg, icount or icount-shared (default: kvm where a trial shows that it works, else tcg)")
	with := flags.String("with", "", "`names` of the host's programs, separated by commas, that a guest which counts has, too")
	lim := limits{boot: bootLimit, answer: 5 * time.Second}
	flags.DurationVar(&lim.silence, "silence", 5*time.Minute, "how long a test may print nothing; 0: for ever")
	host := flags.Bool("as-host", false, "the guest plays a machine that is none: the program fails if it changes it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *with != "" {
		m.with = strings.Split(*with, ",")
	}
	m.terminal = command == "shell"
	if m.terminal == (flags.NArg() > 0) {
		return fmt.Errorf("%s: %d arguments: exec takes a program, shell none", command, flags.NArg())
	}
	// An interrupted wrapper ends, and its guest with it.
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)

	if err := m.prepare(); err != nil {
		return err
	}
	j := job{Args: flags.Args(), AsHost: *host, Env: testEnv(m.kernel)}
	if m.terminal {
		// Of two values for one name, Go takes the first.
		j.Env = append(guestEnv(m.kernel), os.Environ()...)
		// Without a terminal, as in a pipe, bash makes do with its default size.
		if size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
			j.Rows, j.Cols = size.Row, size.Col
		}
		fmt.Printf("# kernel %s (%s). exit leaves it, Ctrl-A X stops it.\n", m.kernel, m.accel)
	}
	var err error
	if j.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if lim.silence == 0 { // a benchmark's package prints when it is done
		lim.boot = 0
	}
	end, err := boot(m, j, os.Stdout, lim, interrupt)
	if err != nil {
		return err
	}
	return end.verdict(m.kernel, os.Stdout)
}

// boot starts m with job j, copies what the program prints to out, and waits for its end. The
// error is about the host; what the guest did wrong is in the ending.
func boot(m machine, j job, out io.Writer, lim limits, interrupt <-chan os.Signal) (ending, error) {
	dir, err := os.MkdirTemp("", "userevents-vm-")
	if err != nil {
		return ending{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m.jobFile, m.initrd = filepath.Join(dir, "job.json"), filepath.Join(dir, "initrd")
	m.console = filepath.Join(dir, "console.log")
	if err := m.check(); err != nil {
		return ending{}, err
	}
	j.Kernel, j.Mark = m.kernel, "\x00"+rand.Text()
	j.Counting, j.Memory = m.accel == accelCount, m.inMemory()
	write := func() error { return writeJob(m.jobFile, j) }
	if j.Memory {
		write = func() error { return writeInitrd(m, j) }
	}
	if err := write(); err != nil {
		return ending{}, fmt.Errorf("write the guest's files: %w", err)
	}

	var messages strings.Builder
	qemu := exec.Command("qemu-system-"+m.qemuArch(), m.args()...)
	qemu.Stderr = &messages
	// No guest outlives a wrapper that is killed.
	qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g := guest{mark: []byte(j.Mark), limits: lim, interrupt: interrupt, chunks: make(chan []byte)}
	if m.terminal { // QEMU has this process's; the end of QEMU ends the job
		qemu.Stdin, qemu.Stdout, qemu.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := qemu.Run(); err != nil {
			return ending{failure: "QEMU: " + err.Error()}, nil
		}
		return ending{}, nil
	}
	output, err := qemu.StdoutPipe()
	if err != nil {
		return ending{}, err
	}
	if g.requests, err = qemu.StdinPipe(); err != nil {
		return ending{}, err
	}
	if err := qemu.Start(); err != nil {
		return ending{}, fmt.Errorf("start QEMU: %w (make deps installs it)", err)
	}
	go g.read(output)
	end, err := g.follow(out)
	_ = qemu.Process.Kill() // all that is left in the guest is process 1
	for range g.chunks {    // until read has ended
	}
	_ = qemu.Wait()
	if said := strings.TrimSpace(messages.String()); end.failure != "" && said != "" {
		end.failure += "; QEMU says: " + said
	}
	console, readErr := os.ReadFile(m.console)
	if errors.Is(readErr, os.ErrNotExist) { // QEMU may have failed before it made one
		readErr = nil
	}
	end.console = strings.ReplaceAll(string(console), "\r", "")
	return end, errors.Join(err, readErr)
}

func writeJob(file string, j job) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// emulated tells tests that instructions take long, see package testscale.
const emulated = "USEREVENTS_EMULATED=1"

// guestEnv is what a guest adds to an environment, or replaces in it.
func guestEnv(kernel string) []string {
	return []string{
		"USEREVENTS_VM=1",
		"USEREVENTS_KERNEL=" + kernel,
		emulated,
		"PATH=" + strings.Join(programDirs(), string(os.PathListSeparator)),
	}
}

// testEnv is the whole environment of tests.
func testEnv(kernel string) []string {
	return append(guestEnv(kernel), "HOME="+guestHome, "USER=root", "LANG=C.UTF-8", "TERM=dumb")
}

// programDirs returns the directories of the host's programs.
func programDirs() []string {
	// Ubuntu's perf is a wrapper that looks for the running kernel's; the real one comes first.
	dirs, _ := filepath.Glob("/usr/lib/linux-tools/*") // the pattern is well-formed
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin")
}
