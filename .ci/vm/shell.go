package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

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
