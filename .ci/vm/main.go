// Command vm runs the tests of this repository in virtual machines.
//
//	vm test  [flags] [packages] [flags of go test]   tests, judged and counted
//	vm bench [flags] [packages] [flags of go test]   instructions of benchmarks
//	vm time  [flags] [packages] [flags of go test]   times of benchmarks
//	vm shell [flags]                                 a shell in a guest
//	vm exec  [flags] program [arguments]             one program in a guest
//	vm keep  [flags] directory program [arguments]   keeps a test binary for guests
//
// "exec" and "keep" are for go test: go test -exec '/path/to/vm exec -kernel 6.12' ./uevents. The other
// commands run go test that way and check what the tests report.
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
	err := dispatch(os.Args[1:])
	var exit exitStatus
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &exit):
		os.Exit(int(exit))
	default:
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(1)
	}
}

// exitStatus ends the program after everything worth saying has been printed.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func dispatch(args []string) error {
	if len(args) == 0 {
		return errors.New("which command? test, bench, time, shell or exec")
	}
	switch name, args := args[0], args[1:]; name {
	case "test", "bench", "time":
		return runSuite(name, args)
	case "exec", "shell":
		return runGuest(name, args)
	case "keep":
		return keepProgram(args)
	case "init":
		return initGuest(args)
	default:
		return fmt.Errorf("unknown command %q: it is test, bench, time, shell or exec", name)
	}
}
