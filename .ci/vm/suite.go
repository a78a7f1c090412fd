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
	"runtime"
	"slices"
	"strings"
	"time"
)

// suite is what go test is to run, and where.
type suite struct {
	command string   // test, bench or time
	kernel  string   // "": on this machine
	wrapper string   // of -exec
	dir     string   // of the module, or of a workspace
	args    []string // packages and flags of go test
	asHost  bool     // the guests play machines that are none
	minimum string   // file with the least number of kernel tests
	proofs  string   // document that names tests that have to run and pass

	selected selection // nil: all tests
	used     selection // tests that used the kernel, on any of the kernels
}

// runSuite runs go test on each kernel in turn.
func runSuite(command string, args []string) error {
	s := suite{command: command, used: selection{}}
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	kernels := flags.String("kernel", "6.12", "`names` of kernels, separated by commas; empty: the tests run on this machine")
	flags.StringVar(&s.dir, "C", ".", "`directory` to run go test in")
	cmdline := flags.String("append", "", "more `words` for the kernel's command line")
	var chosen accel
	flags.Var(&chosen, "accel", "`icount-shared` counts instructions in a guest with the host's files (default: as of vm exec; bench: icount)")
	with := flags.String("with", "", "`names` of the host's programs, separated by commas, that guests which count have, too")
	silence := flags.Duration("silence", 5*time.Minute, "how long a test may print nothing")
	flags.BoolVar(&s.asHost, "as-host", false, "guests play machines that are none: a test that changes one fails")
	flags.StringVar(&s.minimum, "minimum", "", "`file` with the least number of kernel tests that have to run")
	flags.StringVar(&s.proofs, "proofs", "", "`document` with tables that name tests which have to run and pass on a kernel")
	record := flags.String("record", "", "`file` that receives the names of the tests that used the kernel")
	recorded := flags.String("recorded", "", "`file` of -record: packages with tests in it run no others")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *recorded != "" {
		var err error
		if s.selected, err = readSelection(*recorded); err != nil {
			return err
		}
	}
	s.args = flags.Args()
	if len(s.args) == 0 || strings.HasPrefix(s.args[0], "-") {
		s.args = append([]string{"./..."}, s.args...)
	}
	failed := error(nil)
	for kernel := range strings.SplitSeq(*kernels, ",") {
		s.kernel = kernel
		if kernel != "" {
			// Once, before several guests do the same.
			m := machine{kernel: kernel, accel: chosen}
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
	if *record != "" {
		return errors.Join(failed, s.used.write(*record))
	}
	return failed
}

// goTests returns calls of go test: one, or two where tests are selected. Flags of the caller come last:
// they override.
func (s *suite) goTests(flags ...string) (cmds []*exec.Cmd, err error) {
	flags = append([]string{"test", "-count=1", "-vet=off"}, flags...)
	env := os.Environ()
	if s.kernel != "" {
		// go test strips the binaries that it runs itself, and the benchmarks' uprobes look for symbols.
		flags = append(flags, "-exec="+s.wrapper, "-ldflags=-s=false")
		env = append(env, "CGO_ENABLED=0", "GOARCH="+machine{kernel: s.kernel}.goArch())
	}
	runs := [][]string{s.args}
	if s.selected != nil {
		patterns, rest := s.args, []string(nil)
		if i := slices.IndexFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
			patterns, rest = s.args[:i], s.args[i:]
		}
		packages, err := listPackages(s.dir, env, patterns)
		if err != nil {
			return nil, err
		}
		runs = s.selected.runs(packages, rest)
	}
	for _, args := range runs {
		cmd := exec.Command("go", slices.Concat(flags, args)...)
		cmd.Dir, cmd.Env, cmd.Stderr = s.dir, env, os.Stderr
		cmds = append(cmds, cmd)
	}
	return cmds, nil
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
	r.used = s.used
	start := time.Now()
	// One more than there are processors: tests wait for a tool, for a guest's disk, for the end of a program.
	cmds, err := s.goTests("-json", fmt.Sprintf("-p=%d", runtime.NumCPU()+1))
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		err := each(cmd, r.event)
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			r.problem("go test: %v", err)
		} else if err != nil {
			return err
		}
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

var benchmarkLine = regexp.MustCompile(`^Benchmark\S+\s+\d+\s`)

// bench runs benchmarks and passes on what they print.
func (s *suite) bench() error {
	ran := 0
	cmds, err := s.goTests("-timeout=0", "-run=^$", "-bench=.", "-benchtime=1000x")
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		err := each(cmd, func(line []byte) error {
			if benchmarkLine.Match(line) {
				ran++
			}
			_, err := os.Stdout.Write(line)
			return err
		})
		if err != nil {
			fmt.Printf("# kernel %s: FAIL: go test: %v\n", s.kernel, err)
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
