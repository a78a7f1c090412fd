package main

import (
	"bytes"
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
	"syscall"
	"time"
)

// suite is what go test is to run, and where.
type suite struct {
	machine machine // without a kernel: this one
	silence time.Duration
	args    []string // packages and flags of go test
	asHost  bool     // the guests play machines that are none
	keep    string   // directory that receives test binaries, and the names of the tests that need a guest
	kept    string   // directory that has them
	guests  int      // how many run at a time
	minimum int      // of tests that use the kernel
	proofs  string   // document that names tests that have to run and pass

	self, root string // this program, and the repository
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
	flags.StringVar(&s.keep, "keep", "", "`directory` that receives the test binaries, for -kept (with the kernel '')")
	flags.StringVar(&s.kept, "kept", "", "`directory` of -keep: guests run the tests that could not run on this machine, of all its packages or of those named")
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
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	go func() { // the guests end with this process
		<-interrupt
		_ = os.RemoveAll(s.machine.dir)
		os.Exit(1)
	}()
	if s.machine.kernel != "" {
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

// goTest returns a call of go test, whose binaries a wrapper takes if there is one. The arguments of the caller come last: its flags
// override.
func (s *suite) goTest(wrapper string, flags, args []string) *exec.Cmd {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-count=1", "-vet=off"}, flags)...)
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	if wrapper != "" {
		// go test strips the binaries that it runs itself, and the benchmarks' uprobes look for symbols.
		cmd.Args = append(cmd.Args, fmt.Sprintf("-exec='%s' %s", s.self, wrapper), "-ldflags=-s=false")
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOARCH="+s.machine.goArch())
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		cmd.Args = append(cmd.Args, "./...")
	}
	cmd.Args = append(cmd.Args, args...)
	return cmd
}

// testTimeout only guards against hanging.
const testTimeout = "-timeout=30m"

// test runs tests and judges what they report.
func (s *suite) test() error {
	r := newReport(os.Stdout, s.machine.kernel, s.asHost, slices.Contains(s.args, "-race"), slices.Contains(s.args, "-v"))
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

// here runs the tests on this machine.
func (s *suite) here(r *report) error {
	wrapper := ""
	if s.keep != "" {
		dir, err := filepath.Abs(s.keep)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		wrapper = fmt.Sprintf("keep -run '%s'", dir)
	}
	err := r.follow(s.goTest(wrapper, []string{"-json", testTimeout, fmt.Sprintf("-p=%d", s.guests)}, s.args))
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		if len(r.problems) == 0 { // it says more
			r.problem("go test: %v", err)
		}
	} else if err != nil {
		return err
	}
	if s.keep != "" {
		return selectKept(s.keep, r.needGuest)
	}
	return nil
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S+[ \t]+\d+\s`)

// bench runs benchmarks, each test binary in a guest of its own, and passes on what they print.
func (s *suite) bench() error {
	programs, err := s.build(s.args, "-timeout=0", "-run=^$", "-bench=.", "-benchtime=1000x")
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
			return fmt.Errorf("%s failed", p.Package)
		}
		ran += len(benchmarkLine.FindAll(out.Bytes(), -1))
	}
	if ran == 0 {
		return errors.New("no benchmark ran")
	}
	fmt.Printf("# kernel %s: %d benchmarks\n", s.machine.kernel, ran)
	return nil
}
