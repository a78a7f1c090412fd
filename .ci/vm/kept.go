package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// program is a test binary for guests, in a directory of its own.
type program struct {
	Package string   // import path
	Name    string   // of the binary, which programs of tests can see
	Args    []string // as go test gave them; after a run on this machine, they select the tests that need a guest

	dir string
}

// file returns the name of the binary.
func (p program) file() string { return filepath.Join(p.dir, p.Name) }

const keptProgram = "program.json"

// keepProgram is go test's -exec wrapper: it keeps the test binary and, with -run, becomes it.
func keepProgram(args []string) error {
	flags := flag.NewFlagSet("vm keep", flag.ContinueOnError)
	run := flags.Bool("run", false, "run the program here, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return errors.New("keep: it takes a directory, a program and its arguments")
	}
	dir, binary, args := flags.Arg(0), flags.Arg(1), flags.Args()[1:]
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	p := program{Package: strings.TrimSuffix(info.Path, ".test"), Name: filepath.Base(binary), Args: args[1:]}
	p.dir = filepath.Join(dir, strings.ReplaceAll(p.Package, "/", "_"))
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	if os.Link(binary, p.file()) != nil { // another file system
		data, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.file(), data, 0o755); err != nil {
			return err
		}
	}
	if err := p.write(); err != nil || !*run {
		return err
	}
	return syscall.Exec(binary, args, os.Environ())
}

func (p program) write() error { return writeJSON(filepath.Join(p.dir, keptProgram), p) }

// readKept returns the programs of a directory.
func readKept(dir string) (list []program, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", keptProgram))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p := program{dir: filepath.Dir(file)}
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no test binaries in %s: make unit keeps them", dir)
	}
	return list, nil
}

// selectKept selects the tests that need a guest, and removes programs without any.
func selectKept(dir string, tests map[string][]string) error {
	list, err := readKept(dir)
	if err != nil {
		return err
	}
	for _, p := range list {
		if names := tests[p.Package]; len(names) > 0 {
			pattern := "=^(" + strings.Join(names, "|") + ")$"
			p.Args = append(p.Args, "-test.run"+pattern, "-test.bench"+pattern, "-test.benchtime=1x")
			err = errors.Join(err, p.write())
		} else {
			err = errors.Join(err, os.RemoveAll(p.dir))
		}
	}
	return err
}
