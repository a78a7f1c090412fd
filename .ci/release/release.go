package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type release struct {
	repository string
	version    string
	dir        string // for temporary files
	out        io.Writer

	c *checkout // of the commit
	e *environment
}

type step struct {
	what string
	run  func() error
}

func (r *release) run(steps []step) error {
	var problems []error
	for _, s := range steps {
		start := time.Now()
		if err := s.run(); err != nil {
			fmt.Fprintf(r.out, "FAIL  %s: %v\n", s.what, err)
			problems = append(problems, fmt.Errorf("%s: %w", s.what, err))
			continue
		}
		fmt.Fprintf(r.out, "ok    %s (%.1f s)\n", s.what, time.Since(start).Seconds())
	}
	return errors.Join(problems...)
}

// check checks whether the commit can be released. Files of the release are written to out, unless that is "".
func (r *release) check(out string) error {
	if err := checkVersion(r.version); err != nil {
		return err
	}
	if err := r.run([]step{{"the tree has no changes", r.clean}, {"the commit has everything, and the modules agree", r.export}}); err != nil {
		return err
	}
	err := r.run([]step{
		{"modules and go.work name " + r.version, r.versions},
		{"no such tag", r.untagged},
		{"CHANGELOG.md has a section, and none of unreleased changes", r.changelog},
		{"the recorded API is current", r.api},
	})
	if err != nil {
		return err
	}
	if r.e, err = newEnvironment(r.c, r.dir); err != nil {
		return err
	}
	user := r.e.with("GOMODCACHE=" + filepath.Join(r.dir, "modules")) // who has nothing yet
	err = r.run([]step{
		{"go.mod and go.sum are tidy", r.tidy},
		{"a new module gets all modules, and builds with all packages", r.empty(user.importAll)},
		{"a new module builds the program of " + gettingStarted, r.empty(user.getStarted)},
		{"go install installs the command, which knows its version", r.empty(user.install)},
	})
	if err != nil || out == "" {
		return err
	}
	return r.run([]step{{"the binaries of the release are in " + out, func() error { return user.writeBinaries(out) }}})
}

// empty returns a step in an empty directory.
func (r *release) empty(f func(dir string) error) func() error {
	return func() error {
		dir, err := os.MkdirTemp(r.dir, "empty-")
		if err != nil {
			return err
		}
		return f(dir)
	}
}

func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.repository
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

func (r *release) clean() error {
	changed, err := r.git("status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("commit, or remove:\n%s", changed)
	}
	return err
}

// export writes the files of the commit into a directory of their own: what git ignores is not in it.
func (r *release) export() error {
	source := filepath.Join(r.dir, "source")
	_, err := r.git("clone", "--quiet", r.repository, source)
	if err != nil {
		return err
	}
	r.c, err = openCheckout(source)
	return err
}

func (r *release) versions() error {
	var problems []error
	if r.c.version != r.version {
		problems = append(problems, fmt.Errorf("the modules require each other at %s: make release-prepare VERSION=%s", r.c.version, r.version))
	}
	work, err := r.c.work()
	if err != nil {
		return err
	}
	for _, w := range work.Replace {
		if r.c.own(w.Old.Path) && w.Old.Version != r.version {
			problems = append(problems, fmt.Errorf("go.work replaces %s, not %s", w.Old, r.version))
		}
	}
	return errors.Join(problems...)
}

// tags returns the tags of the release: each module has one, which begins with its directory.
func (r *release) tags() (tags []string) {
	for _, m := range r.c.public() {
		tag := r.version
		if d := r.c.directory(m); d != "." {
			tag = d + "/" + tag
		}
		tags = append(tags, tag)
	}
	return tags
}

func (r *release) untagged() error {
	there, err := r.git(append([]string{"tag", "--list"}, r.tags()...)...)
	if err == nil && there != "" {
		err = fmt.Errorf("a version never changes: there is %s", strings.ReplaceAll(there, "\n", ", "))
	}
	return err
}

func (r *release) changelog() error {
	name, text, err := r.c.changelog()
	if err != nil {
		return err
	}
	if strings.Contains(text, unreleased) {
		return fmt.Errorf("%s has unreleased changes", name)
	}
	heading := "## " + strings.TrimPrefix(r.version, "v") + " - "
	if _, after, ok := strings.Cut(text, "\n"+heading); !ok {
		return fmt.Errorf("%s has no section %q", name, heading+"DATE")
	} else if _, err := time.Parse(time.DateOnly, strings.Split(after, "\n")[0]); err != nil {
		return fmt.Errorf("%s: the section of %s: %w", name, r.version, err)
	}
	return nil
}

func (r *release) api() error {
	packages, err := r.c.api("linux")
	if err != nil {
		return err
	}
	return r.c.apiDir().Check(packages)
}

func (r *release) tidy() error {
	for _, m := range r.c.modules {
		changed, err := r.e.tidy(m)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			return fmt.Errorf("%s: make tidy", sortedKeys(changed)[0])
		}
	}
	return nil
}

func (r *release) tag() error {
	for _, tag := range r.tags() {
		if _, err := r.git("tag", "-a", "-m", "userevents-go "+r.version, tag); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.out, "tagged; publish with: git push origin %s\n", strings.Join(r.tags(), " "))
	return nil
}
