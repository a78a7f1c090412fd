package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// apiDir returns the directory of the recorded listings.
func (c *checkout) apiDir() api.Dir { return api.Dir(filepath.Join(c.root, "api")) }

// api lists the public API.
func (c *checkout) api(goos string) ([]api.Package, error) {
	var dirs []string
	for _, m := range c.public() {
		dirs = append(dirs, c.directory(m))
	}
	return api.Load(c.root, c.modules[0].Module.Mod.Path, dirs, goos)
}

// unreleased is the heading of the changelog's section that collects changes until the next release.
const unreleased = "## Unreleased\n"

// changelog returns the path and the text of the changelog.
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

// require makes all modules require each other at a version.
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

// work reads go.work.
func (c *checkout) work() (*modfile.WorkFile, error) {
	name := filepath.Join(c.root, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork(name, text, nil)
}
