// Command proxy writes a Go module proxy of this checkout. The go command then gets the modules of this repository as
// users get those of a release: each at its version, without go.work.
//
//	go run ./.ci/proxy tidy        go mod tidy in all modules, which the go command does without go.work
//	go run ./.ci/proxy write DIR   write the proxy into a directory, for GOPROXY=file://DIR
//
// Its tests install the command and build a program with all public modules from the proxy.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	c, err := openCheckout(root)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "tidy":
		out, err := os.MkdirTemp("", "proxy-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(out) }()
		e, err := newEnvironment(c, out)
		if err != nil {
			return err
		}
		for _, m := range c.modules {
			changed, err := e.tidy(m)
			if err != nil {
				return err
			}
			for name, text := range changed {
				if err := os.WriteFile(name, text, 0o666); err != nil {
					return err
				}
				fmt.Println("changed", name)
			}
		}
		return nil
	case len(args) == 2 && args[0] == "write":
		return c.writeProxy(args[1])
	}
	return fmt.Errorf("usage: go run ./.ci/proxy tidy, or write DIR")
}
