// Command vm runs the tests of this repository inside virtual machines, one for
// each generation of the kernel interface. Run it from the root of the repository.
//
//	go run ./.ci/vm test  [flags] [packages] [-- flags of the test binaries]
//	go run ./.ci/vm bench [flags] [packages] [-- flags of the test binaries]
//	go run ./.ci/vm time  [flags] [packages] [-- flags of the test binaries]
//	go run ./.ci/vm shell [flags]
//
// "bench" counts the instructions of benchmarks, "time" takes their times.
//
// A guest sees the host's root directory, so the host's tools and the compiled
// test binaries are simply there; what it writes stays in its memory. It tells the
// host over a virtio-serial port what the tests print and how they end. The
// kernel's own messages go to a log, which is shown when the guest fails: when it
// panics, hangs, complains or runs no test. A test that skips in a guest fails
// too, unless its reason begins with "not on this kernel: ".
//
// The same program is process 1 of the guest ("init") and what runs tests
// there ("work").
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which command? test, bench, time or shell")
	}
	switch name, args := args[0], args[1:]; name {
	case "test", "bench", "time":
		return runSuite(ctx, name, args)
	case "shell":
		return runTerminal(ctx, args)
	case "init":
		return initGuest(args)
	case "work":
		return workGuest(args)
	default:
		return fmt.Errorf("unknown command %q: it is test, bench, time or shell", name)
	}
}

// runSuite builds the tests once and runs them on each kernel in turn.
func runSuite(ctx context.Context, command string, args []string) error {
	bench := command != "test"
	flags := flag.NewFlagSet("vm", flag.ContinueOnError)
	kernels := flags.String("kernel", "6.12", "`names` of kernels, separated by commas: 6.12, 6.1, 6.1-byte")
	module := flags.String("C", ".", "`directory` of the module whose packages are tested")
	cmdline := flags.String("append", "", "more `words` for the kernel's command line")
	use := flags.String("accel", "", "kvm or tcg (default: kvm where a trial shows that it works)")
	silence := flags.Duration("silence", 2*time.Minute, "how long a guest may print nothing")
	total := flags.Duration("timeout", 15*time.Minute, "how long a guest may take")
	own, testFlags := splitFlags(args)
	if err := flags.Parse(own); err != nil {
		return err
	}
	switch accel(*use) {
	case "", accelKVM, accelTCG:
	default:
		return fmt.Errorf("-accel %s: it is kvm or tcg", *use)
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}

	dir, err := os.MkdirTemp("", "userevents-tests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := &suite{
		out:     os.Stdout,
		bench:   bench,
		accel:   accel(*use),
		cmdline: *cmdline,
		limits:  limits{boot: bootLimit, silence: *silence, answer: answerLimit, total: *total},
		args:    append(defaultFlags(bench), testFlags...),
	}
	if command == "bench" {
		s.accel = accelCount
	}
	if bench {
		s.limits.silence = 0 // a package prints when it is done
	}
	if s.packages, err = buildTests(ctx, *module, dir, patterns); err != nil {
		return err
	}
	var failed error
	for kernel := range strings.SplitSeq(*kernels, ",") {
		err := s.run(ctx, kernel)
		if err != nil && !errors.Is(err, errFailed) {
			return err
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// splitFlags separates the runner's arguments from those of the test binaries.
func splitFlags(args []string) (own, testFlags []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// defaultFlags are the flags of every test binary. Later ones override them. The
// time limits are the runner's.
func defaultFlags(bench bool) []string {
	flags := []string{"-test.paniconexit0"}
	if bench {
		return append(flags, "-test.run=^$", "-test.bench=.", "-test.benchtime=1000x")
	}
	return append(flags, "-test.v=test2json")
}
