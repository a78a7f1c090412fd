package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The go command takes the result of a test from its cache unless a file that the test read in its own module, or a variable of the
// environment, has changed. It does not see files of other modules, the sources of programs that the test builds, nor which programs
// and rights the machine has: tests that depend on these read a variable that has the state of them. See package testscale.

// checkoutState identifies the files of the checkout, by name, size and time.
func checkoutState(root string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", ".build", "node_modules":
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// machineState identifies the user, the network namespace, which may have no loopback interface, and the programs that the user can run.
func machineState() string {
	h := sha256.New()
	network, _ := os.Readlink("/proc/self/ns/net") // no namespaces, no other network
	fmt.Fprintln(h, os.Geteuid(), network)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		names, _ := os.ReadDir(dir) // a directory that cannot be read has no programs
		for _, e := range names {
			fmt.Fprintln(h, e.Name())
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
