// Command release makes releases of this repository, and holds what they need. It writes a Go module proxy of the checkout, from which the
// go command gets the modules of this repository as users get those of a release: each at its version, without go.work.
//
//	go run ./.ci/release tidy               go mod tidy in all modules, which the go command does without go.work
//	go run ./.ci/release api                record the public API
//	go run ./.ci/release prepare v0.1.0     make the unreleased changes those of a version, which modules require of each other
//	go run ./.ci/release check v0.1.0 DIR   check the commit, and write the binaries of the release into a directory ("": none)
//	go run ./.ci/release tag v0.1.0 DIR     the same, and tag all modules, here only
//
// Its tests install the command and build a program with all public modules from the proxy.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: go doc ./.ci/release")

func run(args []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	command := strings.Join(args[:min(1, len(args))], "")
	switch {
	case (command == "check" || command == "tag") && len(args) == 3:
		r := &release{repository: root, version: args[1], dir: dir, out: os.Stdout}
		out := args[2]
		if out != "" {
			if out, err = filepath.Abs(out); err != nil {
				return err
			}
		}
		if err := r.check(out); err != nil || command == "check" {
			return err
		}
		return r.tag()
	}
	c, err := openCheckout(root)
	if err != nil {
		return err
	}
	switch {
	case command == "api" && len(args) == 1:
		packages, err := c.api("linux")
		if err != nil {
			return err
		}
		return c.apiDir().Write(packages)
	case command == "prepare" && len(args) == 2:
		return c.prepare(args[1], time.Now().UTC())
	case command == "tidy" && len(args) == 1:
		e, err := newEnvironment(c, dir)
		if err != nil {
			return err
		}
		return e.tidyAll()
	}
	return errUsage
}

func (e *environment) tidyAll() error {
	for _, m := range e.c.modules {
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
}

// withStderr adds to the error of a program what it said.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
