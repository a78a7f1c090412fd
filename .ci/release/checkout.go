package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// checkout is a repository of modules that are released together: they require each other at the same version.
type checkout struct {
	root    string
	modules []*modfile.File // the main module first; Syntax.Name is the path of go.mod
	version string          // at which they require each other
}

func openCheckout(root string) (*checkout, error) {
	root, err := filepath.EvalSymlinks(root) // WalkDir does not follow it
	if err != nil {
		return nil, err
	}
	c := &checkout{root: root}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.Name() != "go.mod":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		m, err := modfile.Parse(name, text, nil)
		if err != nil {
			return err
		}
		c.modules = append(c.modules, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// WalkDir visits .ci before go.mod.
	slices.SortFunc(c.modules, func(a, b *modfile.File) int { return strings.Compare(dir(a), dir(b)) })
	if len(c.modules) == 0 || dir(c.modules[0]) != root {
		return nil, fmt.Errorf("%s has no go.mod", root)
	}
	return c, c.check()
}

func dir(m *modfile.File) string { return filepath.Dir(m.Syntax.Name) }

func (c *checkout) own(p string) bool {
	main := c.modules[0].Module.Mod.Path
	return p == main || strings.HasPrefix(p, main+"/")
}

// name returns the name of a module in documents: its directory, or what the main one is called.
func (c *checkout) name(m *modfile.File) string {
	if m == c.modules[0] {
		return "the library"
	}
	return c.directory(m)
}

// directory returns the directory of a module below the root, "." for the main one.
func (c *checkout) directory(m *modfile.File) string {
	relative, err := filepath.Rel(c.root, dir(m))
	if err != nil {
		panic(err) // both are of one WalkDir
	}
	return filepath.ToSlash(relative)
}

// public returns the modules that users import or install.
func (c *checkout) public() (modules []*modfile.File) {
	for _, m := range c.modules {
		if c.isPublic(m) {
			modules = append(modules, m)
		}
	}
	return modules
}

func (c *checkout) isPublic(m *modfile.File) bool {
	parts := strings.Split(strings.TrimPrefix(m.Module.Mod.Path, c.modules[0].Module.Mod.Path+"/"), "/")
	return parts[0] != "benchmarks" && parts[0] != "examples" && parts[0] != ".ci" && !slices.Contains(parts, "internal")
}

// check determines the version of the release. It returns an error for contents of a go.mod that a user's go command
// refuses or ignores.
func (c *checkout) check() error {
	var problems []error
	say := func(m *modfile.File, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: "+format, append([]any{m.Syntax.Name}, args...)...))
	}
	for _, m := range c.modules {
		if want := path.Join(c.modules[0].Module.Mod.Path, filepath.ToSlash(strings.TrimPrefix(dir(m), c.root))); m.Module.Mod.Path != want {
			say(m, "the module is called %s, not %s", m.Module.Mod.Path, want)
		}
		for _, r := range m.Replace {
			if c.isPublic(m) || c.own(r.Old.Path) {
				say(m, "replaces %s: go install refuses that, and go build of another module ignores it; go.work is for development", r.Old.Path)
			}
		}
		for _, r := range m.Require {
			if !c.own(r.Mod.Path) {
				continue
			}
			if c.version == "" {
				c.version = r.Mod.Version
			}
			if r.Mod.Version != c.version {
				say(m, "requires %s, other modules require %s", r.Mod, c.version)
			}
		}
	}
	if c.version == "" {
		problems = append(problems, fmt.Errorf("%s: no module requires another one, which would tell the version", c.root))
	}
	return errors.Join(problems...)
}

// writeProxy writes all public modules into a directory, in the layout of a module proxy: see go help goproxy.
func (c *checkout) writeProxy(out string) error {
	for _, m := range c.public() {
		escaped, err := module.EscapePath(m.Module.Mod.Path)
		if err != nil {
			return err
		}
		versions := filepath.Join(out, filepath.FromSlash(escaped), "@v")
		if err := os.MkdirAll(versions, 0o777); err != nil {
			return err
		}
		text, err := os.ReadFile(m.Syntax.Name)
		if err != nil {
			return err
		}
		base := filepath.Join(versions, c.version)
		err = errors.Join(os.WriteFile(filepath.Join(versions, "list"), []byte(c.version+"\n"), 0o666),
			os.WriteFile(base+".info", fmt.Appendf(nil, "{\"Version\":%q}\n", c.version), 0o666),
			os.WriteFile(base+".mod", text, 0o666))
		if err != nil {
			return err
		}
		f, err := os.Create(base + ".zip")
		if err != nil {
			return err
		}
		version := module.Version{Path: m.Module.Mod.Path, Version: c.version}
		files, err := moduleFiles(dir(m))
		if err := errors.Join(err, zip.Create(f, version, files), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// moduleFile is a file of a module.
type moduleFile struct{ dir, name string }

func (f moduleFile) Path() string                 { return filepath.ToSlash(f.name) }
func (f moduleFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(filepath.Join(f.dir, f.name)) }
func (f moduleFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.dir, f.name)) }

// moduleFiles lists the regular files below a directory, but for those of git and of builds, which have hundreds of megabytes.
// Package zip leaves out nested modules.
func moduleFiles(dir string) (files []zip.File, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != dir && slices.Contains([]string{".git", ".build", "node_modules"}, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			rel, err := filepath.Rel(dir, name)
			files = append(files, moduleFile{dir, rel})
			return err
		}
		return nil
	})
	return files, err
}

func (c *checkout) apiDir() api.Dir { return api.Dir(filepath.Join(c.root, "api")) }

func (c *checkout) api(goos string) ([]api.Package, error) {
	var dirs []string
	for _, m := range c.public() {
		dirs = append(dirs, c.directory(m))
	}
	return api.Load(c.root, c.modules[0].Module.Mod.Path, dirs, goos)
}

// unreleased is the heading of the changelog's section that collects changes until the next release.
const unreleased = "## Unreleased\n"

func (c *checkout) changelog() (name, text string, err error) {
	name = filepath.Join(c.root, "CHANGELOG.md")
	b, err := os.ReadFile(name)
	return name, string(b), err
}

// checkVersion returns the problem of a version that the modules of this repository cannot have.
func checkVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version || semver.Build(version) != "" {
		return fmt.Errorf("%q is no version such as v0.1.0", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("%s: the paths of modules would have to end in /%s", version, major)
	}
	return nil
}

// prepare changes the files that name a release: the changelog, and the version at which modules require each other.
func (c *checkout) prepare(version string, day time.Time) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	name, text, err := c.changelog()
	if err != nil {
		return err
	}
	if !strings.Contains(text, unreleased) {
		return fmt.Errorf("%s has no unreleased changes", name)
	}
	if err := c.require(version); err != nil {
		return err
	}
	heading := "## " + strings.TrimPrefix(version, "v") + " - " + day.Format(time.DateOnly) + "\n"
	return os.WriteFile(name, []byte(strings.Replace(text, unreleased, heading, 1)), 0o644)
}

func (c *checkout) require(version string) error {
	for _, m := range c.modules {
		for _, r := range m.Require {
			if !c.own(r.Mod.Path) || r.Mod.Version == version {
				continue
			}
			if err := m.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
		}
		text, err := m.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.Syntax.Name, text, 0o666); err != nil {
			return err
		}
	}
	work, err := c.work()
	if err != nil {
		return err
	}
	for _, r := range work.Replace {
		if was, is := r.Old, r.New.Path; c.own(was.Path) && was.Version != version { // DropReplace changes r
			if err := errors.Join(work.DropReplace(was.Path, was.Version), work.AddReplace(was.Path, version, is, "")); err != nil {
				return err
			}
		}
	}
	work.Cleanup()
	c.version = version
	return os.WriteFile(work.Syntax.Name, modfile.Format(work.Syntax), 0o666)
}

func (c *checkout) work() (*modfile.WorkFile, error) {
	name := filepath.Join(c.root, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork(name, text, nil)
}
