package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/userevents/userevents-go/.ci/release/internal/licences"
)

// thirdPartyFile has the table of licences.
const thirdPartyFile = "THIRD_PARTY.md"

const thirdPartyHead = `# Third-party licences

The modules of other projects that packages of this repository import on Linux, with their licences. A module that users import or install
links only modules whose licences permit that in any program: permissive ones, and MPL-2.0, which concerns changes of the module's own files. A test checks
that, and that this table is current; ` + "`make licences`" + ` writes it. Each release has the texts beside the binaries, in the file LICENSES. Programs also
link Go's standard library (BSD-3-Clause).

"The library" is the module at the root of this repository: a program that imports one of its packages links only what that package
imports.

`

// thirdParty returns the modules of other projects that the repository uses.
func (e *environment) thirdParty() (licences.Set, error) {
	all := licences.Set{}
	for _, m := range e.c.modules {
		user := e.c.name(m)
		for _, test := range []bool{false, true} {
			out, err := e.list(m, test)
			if err != nil {
				return nil, err
			}
			if test {
				user = ""
			}
			if err := all.Add(out, user, e.c.own); err != nil {
				return nil, err
			}
		}
	}
	return all, all.Check()
}

// list runs go list for the packages of a module and all that they import.
func (e *environment) list(m *modfile.File, test bool) ([]byte, error) {
	copied, err := e.copyMod(m)
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-modfile=" + copied[0], "-deps", "-json=Module,Dir,Standard"}
	if test {
		args = append(args, "-test")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir, cmd.Env = dir(m), append(e.env, "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", cmd, dir(m), withStderr(err))
	}
	return out, nil
}

// thirdPartyText returns the contents of the file.
func (e *environment) thirdPartyText() (string, error) {
	set, err := e.thirdParty()
	if err != nil {
		return "", err
	}
	return thirdPartyHead + set.Table(), nil
}

// checkThirdParty returns a problem if the file is not current.
func (e *environment) checkThirdParty() error {
	want, err := e.thirdPartyText()
	if err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(e.c.root, thirdPartyFile))
	if err != nil {
		return err
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(string(is), line) {
			return fmt.Errorf("%s has no line %q: make licences", thirdPartyFile, strings.TrimSpace(line))
		}
	}
	if string(is) != want {
		return fmt.Errorf("%s has lines that are not true any more: make licences", thirdPartyFile)
	}
	return nil
}
