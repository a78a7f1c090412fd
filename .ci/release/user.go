package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// importAll makes a module in an empty directory that gets all public modules, and builds a program with all of their packages.
func (e *environment) importAll(empty string) error {
	var imports strings.Builder
	get := []string{"get"}
	for _, m := range e.c.public() {
		get = append(get, m.Module.Mod.Path+"@"+e.c.version)
	}
	packages, err := e.c.api("linux")
	if err != nil {
		return err
	}
	for _, p := range packages {
		if api.IsInternal(p.Path) {
			continue
		}
		fmt.Fprintf(&imports, "\t_ %q\n", e.c.modules[0].Module.Mod.Path+"/"+p.Path)
	}
	return e.build(empty, "package main\n\nimport (\n"+imports.String()+")\n\nfunc main() {}\n", get)
}

// gettingStarted is the document whose first program readers copy.
const gettingStarted = "docs/getting-started.md"

// getStarted builds the first program of docs/getting-started.md as a reader does, in an empty directory.
func (e *environment) getStarted(empty string) error {
	text, err := os.ReadFile(filepath.Join(e.c.root, gettingStarted))
	if err != nil {
		return err
	}
	_, after, ok := strings.Cut(string(text), "```go\n")
	program, _, closed := strings.Cut(after, "```")
	if !ok || !closed || !strings.HasPrefix(program, "package main\n") {
		return fmt.Errorf("the first block of %s is no program", gettingStarted)
	}
	return e.build(empty, program, []string{"get", e.c.modules[0].Module.Mod.Path + "@" + e.c.version})
}

// build builds a program in a new module, after a command that gets what it imports.
func (e *environment) build(empty, program string, get []string) error {
	if err := os.WriteFile(filepath.Join(empty, "main.go"), []byte(program), 0o666); err != nil {
		return err
	}
	if err := e.run(empty, "mod", "init", "example.com/user"); err != nil {
		return err
	}
	if err := e.run(empty, get...); err != nil {
		return err
	}
	return e.run(empty, "build", "-o", filepath.Join(empty, "program"), ".")
}

// install installs the command, which must report the version of the release.
func (e *environment) install(empty string) error {
	bin := filepath.Join(e.dir, "bin")
	if err := e.with("GOBIN="+bin).run(empty, "install", e.command()); err != nil {
		return err
	}
	out, err := exec.Command(filepath.Join(bin, "uevents"), "--version").Output()
	if err != nil {
		return err
	}
	if want := "uevents " + e.c.version + "\n"; string(out) != want {
		return fmt.Errorf("uevents --version prints %q, not %q", out, want)
	}
	return nil
}

// command returns the command's package at the version of the release.
func (e *environment) command() string {
	return e.c.modules[0].Module.Mod.Path + "/cmd/uevents@" + e.c.version
}
