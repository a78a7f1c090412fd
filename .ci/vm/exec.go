package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// usual are the limits of tests. They are generous: a guest is up in seconds, but a busy host may run many.
var usual = limits{silence: 10 * time.Minute, answer: 10 * time.Second}

// runGuest boots a guest for one program, or for a shell.
func runGuest(command string, args []string) error {
	flags := flag.NewFlagSet("vm "+command, flag.ContinueOnError)
	var m machine
	flags.StringVar(&m.kernel, "kernel", "6.12", "`name` of the kernel, as of .ci/kernel/build.sh")
	flags.StringVar(&m.cmdline, "append", "", "more `words` for the kernel's command line")
	flags.StringVar(&m.init, "init", "", "this `program`, built for the guest (default: it is built)")
	flags.Var(&m.accel, "accel", "`kvm`, tcg, icount, icount-shared or uml (default: what the kernel is for; kvm where a trial shows that it works, else tcg)")
	with := flags.String("with", "", "`names` of the host's programs, separated by commas, that a guest which counts has, too")
	lim := usual
	flags.DurationVar(&lim.silence, "silence", lim.silence, "how long a program may print nothing; 0: for ever")
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
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if m.terminal {
		return runShell(m, dir)
	}
	end, err := runOnce(m, job{Args: flags.Args(), Dir: dir, Env: testEnv(m)}, lim, interrupt)
	if err != nil {
		return err
	}
	return end.verdict(m.kernel, os.Stdout)
}

// runOnce runs a program in a guest of its own.
func runOnce(m machine, j job, lim limits, interrupt <-chan os.Signal) (ending, error) {
	s := settings{}
	if m.inMemory() {
		s.Job = &j
	}
	g, err := boot(m, s)
	if err != nil {
		return ending{}, err
	}
	end, err := g.run(j, os.Stdout, lim, interrupt)
	return end, errors.Join(err, g.close())
}

// runShell runs a shell on this terminal.
func runShell(m machine, dir string) error {
	// Of two values for one name, Go takes the first.
	s := settings{Shell: true, Job: &job{Dir: dir, Env: append(guestEnv(m), os.Environ()...)}}
	// Without a terminal, as in a pipe, bash makes do with its default size.
	if size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
		s.Rows, s.Cols = size.Row, size.Col
	}
	leave := "exit leaves it, Ctrl-A X stops it"
	if m.uml() {
		leave = "exit leaves it"
	}
	fmt.Printf("# kernel %s (%s). %s.\n", m.kernel, m.accel, leave)
	g, err := boot(m, s)
	if err != nil {
		return err
	}
	err = g.command.Wait() // the end of the machine ends the shell
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("the guest failed: %w", err)
	}
	return errors.Join(err, os.RemoveAll(g.dir))
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
