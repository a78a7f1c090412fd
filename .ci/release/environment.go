package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// environment runs the go command as on a user's machine. It gets the modules of the checkout from a file proxy, and
// all others from the caches of this machine and then from its own proxy.
type environment struct {
	c   *checkout
	dir string // for temporary files
	env []string
}

func newEnvironment(c *checkout, dir string) (*environment, error) {
	proxy := filepath.Join(dir, "proxy")
	if err := c.writeProxy(proxy); err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cache, upstream, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	base, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	// A separate cache, kept for the next run: in the user's cache, versions of this repository would hide the
	// published ones.
	modules := filepath.Join(base, "userevents-go", "modules")
	if err := lock(modules); err != nil {
		return nil, err
	}
	for _, part := range []string{modules, filepath.Join(modules, "cache", "download")} {
		stale, err := filepath.Glob(filepath.Join(part, filepath.FromSlash(c.modules[0].Module.Mod.Path)+"*"))
		if err != nil {
			return nil, err
		}
		for _, name := range stale {
			if err := os.RemoveAll(name); err != nil {
				return nil, err
			}
		}
	}
	e := &environment{c: c, dir: dir, env: append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off", "GOMODCACHE="+modules,
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(cache)+"/cache/download,"+upstream,
		"GOBIN="+filepath.Join(dir, "bin"), "GONOPROXY=none", "GOPRIVATE=", "GOTOOLCHAIN=local",
		"GODEBUG=goindex=0")} // its index of packages assumes that a version never changes
	return e, nil
}

// lock waits for exclusive use of a directory, and holds it until this process ends: the directory has the modules of
// this checkout.
func lock(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	fd, err := syscall.Open(filepath.Join(dir, "lock"), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("open lock in %s: %w", dir, err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	return nil
}

func (e *environment) with(env ...string) *environment {
	return &environment{e.c, e.dir, slices.Concat(e.env, env)}
}

func (e *environment) run(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, e.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", cmd, dir, err, out)
	}
	return nil
}

// tidy runs go mod tidy and returns the changed files of a module, go.mod or go.sum, with their new contents. It
// ignores the sums of this repository's modules: they change with every commit, and a user's go command does not check
// them.
func (e *environment) tidy(m *modfile.File) (map[string][]byte, error) {
	copies, err := e.copyMod(m)
	if err != nil {
		return nil, err
	}
	names := modFiles(m)
	if err := e.run(dir(m), "mod", "tidy", "-modfile="+copies[0]); err != nil {
		return nil, err
	}
	changed := map[string][]byte{}
	for n, name := range names {
		text, err := os.ReadFile(copies[n])
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if n == 1 {
			text = e.foreign(text)
		}
		before, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if !bytes.Equal(text, before) {
			changed[name] = text
		}
	}
	return changed, nil
}

// modFiles returns the paths of go.mod and go.sum of a module. A module without requirements has no go.sum.
func modFiles(m *modfile.File) []string {
	return []string{m.Syntax.Name, strings.TrimSuffix(m.Syntax.Name, "mod") + "sum"}
}

// copyMod copies go.mod and go.sum of a module, which the go command then changes in place of the originals.
func (e *environment) copyMod(m *modfile.File) (copies []string, err error) {
	copies = []string{filepath.Join(e.dir, "copy.mod"), filepath.Join(e.dir, "copy.sum")}
	for n, name := range modFiles(m) {
		text, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if err := os.WriteFile(copies[n], text, 0o666); err != nil {
			return nil, err
		}
	}
	return copies, nil
}

// foreign returns the lines of a go.sum about modules of other repositories.
func (e *environment) foreign(sums []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(sums) {
		if name, _, _ := strings.Cut(string(line), " "); !e.c.own(name) {
			kept = append(kept, line...)
		}
	}
	return kept
}

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
	before, after, ok := strings.Cut(string(text), "```go\n")
	program, _, closed := strings.Cut(after, "```")
	if !ok || !closed || !strings.HasPrefix(program, "package main\n") {
		return fmt.Errorf("the first block of %s is no program", gettingStarted)
	}
	_, line, ok := strings.Cut(before, "\n    go get ")
	path, _, ended := strings.Cut(line, "\n")
	if !ok || !ended {
		return fmt.Errorf("%s has no go get before its first program", gettingStarted)
	}
	readers := e.with("GOFLAGS=-modcacherw -trimpath") // without -mod=mod, go build adds nothing to go.sum
	return readers.build(empty, program, []string{"get", path + "@" + e.c.version})
}

// build builds a program in a new module, whose source is written after a command that gets its imports.
func (e *environment) build(empty, program string, get []string) error {
	if err := e.run(empty, "mod", "init", "example.com/user"); err != nil {
		return err
	}
	if err := e.run(empty, get...); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(empty, "main.go"), []byte(program), 0o666); err != nil {
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

var architectures = []string{"amd64", "arm64"}

// writeBinaries builds the command for all architectures, as go install builds it for a user, and writes it with checksums into a
// directory. The go command builds the same bytes from the same sources, wherever they are.
func (e *environment) writeBinaries(out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	var sums strings.Builder
	for _, arch := range architectures {
		// go install refuses GOBIN for another architecture, and has folders of its own for them.
		target := filepath.Join(e.dir, "target-"+arch)
		if err := os.MkdirAll(target, 0o777); err != nil {
			return err
		}
		if err := e.with("CGO_ENABLED=0", "GOBIN=", "GOPATH="+target, "GOOS=linux", "GOARCH="+arch).run(e.dir, "install", e.command()); err != nil {
			return err
		}
		for _, bin := range []string{"bin", filepath.Join("bin", "linux_"+arch)} {
			binary, err := os.ReadFile(filepath.Join(target, bin, "uevents"))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			name := "uevents-linux-" + arch
			if err := os.WriteFile(filepath.Join(out, name), binary, 0o777); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(binary), name)
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o666)
}
