// Command vm runs the tests of this repository in virtual machines, from the root of the repository.
//
//	vm test  [flags] [packages] [flags of go test]   tests, judged and counted
//	vm bench [flags] [packages] [flags of go test]   benchmarks: their times or, with -accel icount, instructions
//	vm shell [flags]                                 a shell in a guest
//
// The same program is process 1 of the guest ("init").
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
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
