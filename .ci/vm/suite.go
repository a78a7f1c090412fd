package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// suite is what go test is to run, and where.
type suite struct {
	command string  // test, bench or time
	machine machine // without a kernel: this one
	with    string  // programs of the host, for guests that count
	silence time.Duration
	dir     string   // of the module, or of a workspace
	args    []string // packages and flags of go test
	asHost  bool     // the guests play machines that are none
	keep    string   // directory that receives test binaries, and the names of the tests that need a guest
	kept    string   // directory that has them
	guests  int      // how many run at a time
	minimum string   // file with the least number of kernel tests
	proofs  string   // document that names tests that have to run and pass
}

// runSuite runs go test on each kernel in turn.
func runSuite(command string, args []string) error {
	s := suite{command: command}
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	kernels := flags.String("kernel", "6.12", "`names` of kernels, separated by commas; empty: the tests run on this machine")
	flags.StringVar(&s.dir, "C", ".", "`directory` to run go test in")
	cmdline := flags.String("append", "", "more `words` for the kernel's command line")
	var chosen accel
	flags.Var(&chosen, "accel", "`icount-shared` counts instructions in a guest with the host's files (default: as of vm exec; bench: icount)")
	flags.StringVar(&s.with, "with", "", "`names` of the host's programs, separated by commas, that guests which count have, too")
	flags.DurationVar(&s.silence, "silence", usual.silence, "how long a test may print nothing")
	flags.BoolVar(&s.asHost, "as-host", false, "guests play machines that are none: a test that changes one fails")
	flags.StringVar(&s.keep, "keep", "", "`directory` that receives the test binaries, for -kept (with the kernel '')")
	flags.StringVar(&s.kept, "kept", "", "`directory` of -keep: guests run the tests that could not run on this machine, of all its packages or of those named")
	// One more than there are processors: tests wait for a tool, for a guest's disk, for the end of a program.
	flags.IntVar(&s.guests, "guests", runtime.NumCPU()+1, "`number` of guests at a time")
	flags.StringVar(&s.minimum, "minimum", "", "`file` with the least number of kernel tests that have to run")
	flags.StringVar(&s.proofs, "proofs", "", "`document` with tables that name tests which have to run and pass on a kernel")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.args = flags.Args()
	if s.kept == "" && (len(s.args) == 0 || strings.HasPrefix(s.args[0], "-")) {
		s.args = append([]string{"./..."}, s.args...)
	}
	run := s.test
	if command != "test" {
		run, s.silence = s.bench, 0 // a package prints when it is done
	}
	failed := error(nil)
	for kernel := range strings.SplitSeq(*kernels, ",") {
		s.machine = machine{kernel: kernel, accel: chosen, cmdline: *cmdline}
		if command == "bench" {
			s.machine.accel = accelCount
		}
		if kernel != "" {
			if err := s.machine.prepare(); err != nil {
				return err
			}
		}
		err := run()
		var exit exitStatus
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// goTest returns a call of go test. Flags of the caller come last: they override.
func (s *suite) goTest(args []string, flags ...string) *exec.Cmd {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-count=1", "-vet=off"}, flags, args)...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, os.Environ(), os.Stderr
	return cmd
}

// wrapped is goTest for binaries that a wrapper takes.
func (s *suite) wrapped(args []string, wrapper string, flags ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// go test strips the binaries that it runs itself, and the benchmarks' uprobes look for symbols.
	cmd := s.goTest(args, append(flags, fmt.Sprintf("-exec='%s' %s", self, wrapper), "-ldflags=-s=false")...)
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOARCH="+s.machine.goArch())
	return cmd, nil
}

// each runs a command and hands every line of its output to handle.
func each(cmd *exec.Cmd, handle func(line []byte) error) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if err := handle(line); err != nil {
				_ = cmd.Process.Kill()
				return errors.Join(err, cmd.Wait())
			}
		}
		if err == io.EOF {
			return cmd.Wait()
		} else if err != nil {
			return errors.Join(err, cmd.Wait())
		}
	}
}

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
	if s.minimum != "" {
		if err := r.checkMinimum(s.minimum); err != nil {
			return err
		}
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
	flags := []string{"-json", "-timeout=" + testTimeout, fmt.Sprintf("-p=%d", s.guests)}
	cmd := s.goTest(s.args, flags...)
	if s.keep != "" {
		dir, err := filepath.Abs(s.keep)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if cmd, err = s.wrapped(s.args, fmt.Sprintf("keep -run '%s'", dir), flags...); err != nil {
			return err
		}
	}
	err := each(cmd, r.event)
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

// testTimeout only guards against hanging.
const testTimeout = "30m"

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S+[ \t]+\d+\s`)

// bench runs benchmarks, each test binary in a guest of its own, and passes on what they print.
func (s *suite) bench() error {
	m := s.machine
	cmd, err := s.wrapped(s.args, fmt.Sprintf("exec -kernel %s -accel %s -init '%s' -silence 0 -with '%s' -append '%s'",
		m.kernel, m.accel, m.init, s.with, m.cmdline), "-timeout=0", "-run=^$", "-bench=.", "-benchtime=1000x")
	if err != nil {
		return err
	}
	ran := 0
	err = each(cmd, func(line []byte) error {
		if benchmarkLine.Match(line) {
			ran++
		}
		_, err := os.Stdout.Write(line)
		return err
	})
	if err != nil {
		fmt.Printf("# kernel %s: FAIL: go test: %v\n", m.kernel, err)
		return exitStatus(1)
	}
	if ran == 0 {
		fmt.Printf("# kernel %s: FAIL: no benchmark ran\n", m.kernel)
		return exitStatus(1)
	}
	fmt.Printf("# kernel %s: %d benchmarks\n", m.kernel, ran)
	return nil
}
