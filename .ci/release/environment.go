package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"
)

// environment runs the go command as on a user's machine. It gets the modules of the checkout from a file proxy, and
// all others from the caches of this machine and then from its own proxy.
type environment struct {
	c   *checkout
	dir string // for temporary files
	env []string
}

// newEnvironment writes the proxy into a directory.
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

// with returns the environment with more variables.
func (e *environment) with(env ...string) *environment {
	return &environment{e.c, e.dir, slices.Concat(e.env, env)}
}

// run runs the go command in a directory.
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
