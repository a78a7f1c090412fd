// Command vm runs the tests of this repository in virtual machines, from the root of the repository.
//
//	vm test  [flags] [packages] [flags of go test]   tests, judged and counted
//	vm bench [flags] [packages] [flags of go test]   benchmarks: their times or, with -accel icount, instructions
//	vm shell [flags]                                 a shell in a guest
//
// The same program is process 1 of the guest ("init").
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/internal/testscale"
)

func main() {
	if err := dispatch(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		return errors.New("which command? test, bench or shell")
	}
	switch name, args := args[0], args[1:]; name {
	case "test", "bench", "shell":
		return runSuite(name, args)
	case "init":
		return initGuest(args)
	default:
		return fmt.Errorf("unknown command %q: it is test, bench or shell", name)
	}
}

// suite is what go test is to run, and where.
type suite struct {
	machine machine // without a kernel: this one
	silence time.Duration
	args    []string // packages and flags of go test
	asHost  bool     // the guests play machines that are none
	list    string   // file of the tests that this machine skips and a guest runs
	needed  bool     // a test that lacks a program is a failure
	guests  int      // how many run at a time
	minimum int      // of tests that use the kernel
	proofs  string   // document that names tests that have to run and pass

	self, root string // this program, and the repository

	interrupted context.Context
	running     sync.WaitGroup // the go command that runs tests on this machine
}

// runSuite runs a command with guests: test, bench or shell.
func runSuite(command string, args []string) (err error) {
	var s suite
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	flags.StringVar(&s.machine.kernel, "kernel", "6.12", "`name` of the kernel, as of .ci/kernel/build.sh; empty: the tests run on this machine")
	flags.StringVar(&s.machine.cmdline, "append", "", "more `words` for the kernel's command line")
	flags.StringVar(&s.machine.accel, "accel", "", "`kvm`, tcg, icount or icount-shared: what executes the guest's instructions (default: kvm where a trial shows that it works, else tcg)")
	files := flags.String("files", "", "`files` of the host, separated by spaces, that a guest under icount has, too")
	flags.DurationVar(&s.silence, "silence", 10*time.Minute, "how long a test may print nothing")
	flags.BoolVar(&s.asHost, "as-host", false, "guests play machines that are none: a test that changes one fails")
	flags.StringVar(&s.list, "list", "", "`file` that lists the tests which need a guest: this machine writes it, guests run its tests, of all packages or of those named")
	flags.BoolVar(&s.needed, "complete", false, "fail where a program is missing")
	optional := flags.Bool("optional", false, "run no test, and say so, if the kernel is not built; without the flag, it is built")
	// One more than there are processors: tests wait for a tool, for a guest's disk, for the end of a program.
	flags.IntVar(&s.guests, "guests", runtime.NumCPU()+1, "`number` of guests at a time")
	flags.IntVar(&s.minimum, "minimum", 0, "`number` of kernel tests that have to run at least")
	flags.StringVar(&s.proofs, "proofs", "", "`document` with tables that name tests which have to run and pass on a kernel")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.machine.files, s.args = strings.Fields(*files), flags.Args()
	if command == "shell" && len(s.args) > 0 {
		return fmt.Errorf("shell: unexpected arguments %q", s.args)
	}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.root, err = os.Getwd(); err != nil {
		return err
	}
	if s.machine.dir, err = os.MkdirTemp("", "userevents-vm-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(s.machine.dir) }()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil { // go run passes no SIGTERM on
		return err
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(interrupt, syscall.SIGHUP)
	}
	var cancel context.CancelFunc
	s.interrupted, cancel = context.WithCancel(context.Background())
	go func() { // the guests end with this process
		<-interrupt
		cancel()
		s.running.Wait()
		_ = os.RemoveAll(s.machine.dir)
		os.Exit(1)
	}()
	if s.machine.kernel != "" {
		if reason := s.machine.unusable(); *optional && reason != "" {
			return s.notRun(reason)
		}
		if err := s.machine.prepare(); err != nil {
			return err
		}
	}
	switch command {
	case "shell":
		return runShell(s.machine)
	case "bench":
		return s.bench()
	}
	return s.test()
}

// testTimeout only guards against hanging.
const testTimeout = "-timeout=30m"

// test runs tests and judges what they report.
func (s *suite) test() error {
	r := newReport(os.Stdout, s)
	start := time.Now()
	run := s.onGuests
	if s.machine.kernel == "" {
		run = s.here
	}
	if err := run(r); err != nil {
		return err
	}
	if r.onKernel < s.minimum {
		r.problem("%d kernel tests ran, at least %d have to: look for tests that are gone or do not reach kerneltest.Require any more", r.onKernel, s.minimum)
	}
	if s.proofs != "" {
		if err := r.checkProofs(s.proofs); err != nil {
			return err
		}
	}
	return r.verdict(time.Since(start))
}

// notRun says that the tests of a list do not run, and why.
func (s *suite) notRun(reason string) error {
	l, err := readList(s.list)
	if err != nil {
		return err
	}
	n := 0
	for _, names := range l.on(s.machine.kernel) {
		n += len(names)
	}
	return summarize(os.Stdout, fmt.Sprintf("# kernel %s: %d of the skipped tests run on it, and did not: %s\n", s.machine.kernel, n, reason), "")
}

// here runs the tests on this machine, in programs without debugging data, which are linked in less time. The go command takes the results of tests that have not changed from its cache.
func (s *suite) here(r *report) error {
	state, err := checkoutState(s.root)
	if err != nil {
		return err
	}
	s.running.Add(1)
	defer s.running.Done()
	cmd := exec.CommandContext(s.interrupted, "go", slices.Concat([]string{"test", "-json", "-vet=off", "-ldflags=-w", testTimeout, fmt.Sprintf("-p=%d", s.guests)}, s.args)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), testscale.EnvCheckout+"="+state, testscale.EnvMachine+"="+machineState()), os.Stderr
	// The go command does not end what it has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
	err = r.follow(cmd)
	if s.interrupted.Err() != nil {
		return errors.New("interrupted")
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		if len(r.problems) == 0 { // it says more
			r.problem("go test: %v", err)
		}
	} else if err != nil {
		return err
	}
	if s.list != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.list), 0o755), writeJSON(s.list, r.skipped)); err != nil {
			r.problem("the list of tests for guests is not written: %v", err)
		}
	}
	return nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S+[ \t]+\d+\s`)

// bench runs benchmarks, each test binary in a guest of its own, and passes on what they print.
func (s *suite) bench() error {
	patterns, flags := splitArgs(s.args)
	programs, err := s.build(patterns, append([]string{"-timeout=0", "-run=^$", "-bench=.", "-benchtime=1000x"}, flags...)...)
	if err != nil {
		return err
	}
	ran := 0
	for _, p := range programs {
		var out bytes.Buffer
		// A package prints when it is done.
		end, err := runOnce(s.machine, s.job(p), 0, io.MultiWriter(os.Stdout, &out))
		if err != nil {
			return err
		}
		end.explain(s.machine.kernel, os.Stdout)
		if end.status != 0 || len(end.problems()) > 0 {
			return fmt.Errorf("%s failed", p.pkg)
		}
		ran += len(benchmarkLine.FindAll(out.Bytes(), -1))
	}
	if ran == 0 {
		return errors.New("no benchmark ran")
	}
	fmt.Printf("# kernel %s: %d benchmarks\n", s.machine.kernel, ran)
	return nil
}

// runShell runs a shell on this terminal.
func runShell(m machine) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	script := "exec bash"
	// Without a terminal, as in a pipe, bash makes do with its default size.
	if size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
		script = fmt.Sprintf("stty rows %d cols %d; ", size.Row, size.Col) + script
	}
	leave := "exit leaves it, Ctrl-A X stops it"
	if isUML(m.kernel) {
		leave = "exit leaves it"
	}
	fmt.Printf("# kernel %s. %s.\n", m.kernel, leave)
	m.terminal = true
	// Of two values for one name, Go takes the last.
	g, err := boot(m, settings{Shell: true, Job: job{Args: []string{"/bin/sh", "-c", script}, Dir: dir, Env: append(os.Environ(), guestEnv(m)...)}})
	if err != nil {
		return err
	}
	err = g.command.Wait() // the end of the machine ends the shell
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		console, _ := os.ReadFile(g.machine.console()) // which may not be there
		err = fmt.Errorf("the guest failed: %w\n%s", err, console)
	}
	return err
}

// emulated tells tests that instructions take long, see package testscale.
const emulated = "USEREVENTS_EMULATED=1"

// guestEnv is what a guest adds to an environment, or replaces in it.
func guestEnv(m machine) []string {
	return []string{
		"USEREVENTS_VM=1",
		"USEREVENTS_KERNEL=" + m.kernel,
		emulated,
		"PATH=" + strings.Join(programDirs(m), string(os.PathListSeparator)),
	}
}

// testEnv is the whole environment of tests.
func testEnv(m machine) []string {
	return append(guestEnv(m), "HOME="+guestHome, "USER=root", "LANG=C.UTF-8", "TERM=dumb")
}

// programDirs returns the directories of the host's programs. Another processor cannot run them.
func programDirs(m machine) []string {
	if m.arm() {
		return []string{"/nonexistent"}
	}
	// Ubuntu's perf is a wrapper that looks for the running kernel's; the real one comes first.
	dirs, _ := filepath.Glob("/usr/lib/linux-tools/*") // the pattern is well-formed
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin")
}
