package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// suite is what go test is to run, and where.
type suite struct {
	command string   // test, bench or time
	kernel  string   // "": on this machine
	wrapper string   // of -exec
	modules []string // directories
	args    []string // packages and flags of go test
	asHost  bool     // the guests play machines that are none
	minimum string   // file with the least number of kernel tests
}

// runSuite runs go test in modules, on each kernel in turn.
func runSuite(command string, args []string) error {
	s := suite{command: command}
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	kernels := flags.String("kernel", "6.12", "`names` of kernels, separated by commas; empty: the tests run on this machine")
	modules := flags.String("C", ".", "`directories` of modules, separated by commas")
	cmdline := flags.String("append", "", "more `words` for the kernel's command line")
	with := flags.String("with", "", "`names` of the host's programs, separated by commas, that guests which count have, too")
	silence := flags.Duration("silence", 5*time.Minute, "how long a test may print nothing")
	flags.BoolVar(&s.asHost, "as-host", false, "guests play machines that are none: a test that changes one fails")
	flags.StringVar(&s.minimum, "minimum", "", "`file` with the least number of kernel tests that have to run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.modules, s.args = strings.Split(*modules, ","), flags.Args()
	if len(s.args) == 0 || strings.HasPrefix(s.args[0], "-") {
		s.args = append([]string{"./..."}, s.args...)
	}
	failed := error(nil)
	for kernel := range strings.SplitSeq(*kernels, ",") {
		s.kernel = kernel
		if kernel != "" {
			// Once, before several guests do the same.
			m := machine{kernel: kernel}
			if command == "bench" {
				m.accel = accelCount
			}
			if err := m.prepare(); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if command != "test" {
				*silence = 0 // a package prints when it is done
			}
			s.wrapper = fmt.Sprintf("'%s' exec -kernel %s -accel %s -init '%s' -silence %v -as-host=%t -with '%s' -append '%s'",
				self, kernel, m.accel, m.init, *silence, s.asHost, *with, *cmdline)
		}
		run := s.test
		if command != "test" {
			run = s.bench
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

// goTest returns go test in a module. Flags of the caller come last: they override.
func (s *suite) goTest(module string, flags ...string) *exec.Cmd {
	flags = append([]string{"test", "-count=1", "-vet=off"}, flags...)
	env := os.Environ()
	if s.kernel != "" {
		// go test strips the binaries that it runs itself, and the benchmarks' uprobes look for symbols.
		flags = append(flags, "-exec="+s.wrapper, "-ldflags=-s=false")
		env = append(env, "CGO_ENABLED=0", "GOARCH="+machine{kernel: s.kernel}.goArch())
	}
	cmd := exec.Command("go", append(flags, s.args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = module, env, os.Stderr
	return cmd
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

// test runs tests and judges what go test reports.
func (s *suite) test() error {
	r := newReport(os.Stdout, s.kernel, s.asHost, slices.Contains(s.args, "-race"), slices.Contains(s.args, "-v"))
	start := time.Now()
	for _, module := range s.modules {
		err := each(s.goTest(module, "-json"), r.event)
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			r.problem("go test in %s: %v", module, err)
		} else if err != nil {
			return err
		}
	}
	if s.minimum != "" {
		if err := r.checkMinimum(s.minimum); err != nil {
			return err
		}
	}
	return r.verdict(time.Since(start))
}

var benchmarkLine = regexp.MustCompile(`^Benchmark\S+\s+\d+\s`)

// bench runs benchmarks and passes on what they print.
func (s *suite) bench() error {
	ran := 0
	for _, module := range s.modules {
		err := each(s.goTest(module, "-timeout=0", "-run=^$", "-bench=.", "-benchtime=1000x"), func(line []byte) error {
			if benchmarkLine.Match(line) {
				ran++
			}
			_, err := os.Stdout.Write(line)
			return err
		})
		if err != nil {
			fmt.Printf("# kernel %s: FAIL: go test in %s: %v\n", s.kernel, module, err)
			return exitStatus(1)
		}
	}
	if ran == 0 {
		fmt.Printf("# kernel %s: FAIL: no benchmark ran\n", s.kernel)
		return exitStatus(1)
	}
	fmt.Printf("# kernel %s: %d benchmarks\n", s.kernel, ran)
	return nil
}
