package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// runTerminal boots a guest with a shell on this process's terminal.
func runTerminal(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("vm shell", flag.ContinueOnError)
	kernel := flags.String("kernel", "6.12", "`name` of the kernel: 6.12, 6.1 or 6.1-byte")
	cmdline := flags.String("append", "", "more `words` for the kernel's command line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "userevents-vm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m, err := newMachine(ctx, *kernel, "")
	if err != nil {
		return err
	}
	m.cmdline, m.terminal = *cmdline, true

	s := &shell{}
	if s.Dir, err = os.Getwd(); err != nil {
		return err
	}
	// Without a terminal, as in a pipe, bash makes do with its default size.
	if size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
		s.Rows, s.Cols = size.Row, size.Col
	}
	j := job{Kernel: *kernel, Env: shellEnv(*kernel), Shell: s}
	fmt.Printf("# kernel %s (%s). exit leaves it, Ctrl-A X stops it.\n", *kernel, m.accel)
	end, err := boot(ctx, dir, m, j, limits{boot: bootLimit}, func(frame) error { return nil })
	if err != nil {
		return err
	}
	if end.failure != "" {
		fmt.Printf("# kernel %s: console log:\n%s\n# kernel %s: %s\n", *kernel, end.console, *kernel, end.failure)
		return errFailed
	}
	return nil
}

// shellEnv is the host's environment, so that the shell is the one its user knows.
func shellEnv(kernel string) []string {
	// Of two values for one name, Go takes the first.
	return append([]string{"USEREVENTS_VM=1", "USEREVENTS_KERNEL=" + kernel, "PATH=" + guestPath()}, os.Environ()...)
}
