package api

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/.ci/release/internal/changelog"
)

// Record is the recorded API of a package: the lines of the last release, and the changes since.
type Record struct {
	released, added, removed []string
}

// The first two characters of a line in a file of a record. Other lines are comments.
const (
	markReleased = "  "
	markAdded    = "+ "
	markRemoved  = "- "
)

func parseRecord(text string) *Record {
	r := &Record{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, markReleased); ok {
			r.released = append(r.released, rest)
		} else if rest, ok := strings.CutPrefix(line, markAdded); ok {
			r.added = append(r.added, rest)
		} else if rest, ok := strings.CutPrefix(line, markRemoved); ok {
			r.removed = append(r.removed, rest)
		}
	}
	return r
}

// base returns the lines of the last release.
func (r *Record) base() []string { return slices.Concat(r.released, r.removed) }

// current returns the lines with the changes since.
func (r *Record) current() []string {
	lines := slices.Concat(r.released, r.added)
	slices.Sort(lines)
	return lines
}

// update returns a record with the same release and these lines.
func (r *Record) update(lines []string) *Record {
	base, next := r.base(), &Record{}
	for _, line := range lines {
		if slices.Contains(base, line) {
			next.released = append(next.released, line)
		} else {
			next.added = append(next.added, line)
		}
	}
	next.removed = slices.DeleteFunc(base, func(line string) bool { return slices.Contains(lines, line) })
	return next
}

// text returns the contents of a file. What was removed stands beside what replaced it.
func (r *Record) text(path string) string {
	type marked struct{ line, mark string }
	var all []marked
	for _, list := range []struct {
		mark  string
		lines []string
	}{{markReleased, r.released}, {markRemoved, r.removed}, {markAdded, r.added}} {
		for _, line := range list.lines {
			all = append(all, marked{line, list.mark})
		}
	}
	slices.SortStableFunc(all, func(a, b marked) int { return strings.Compare(a.line, b.line) })
	var b strings.Builder
	fmt.Fprintf(&b, "# The public API of %s, with + and - for what changed since the last release. Written by make api.\n", path)
	for _, m := range all {
		b.WriteString(m.mark + m.line + "\n")
	}
	return b.String()
}

// Dir is a directory of records: PATH.txt for the package PATH.
type Dir string

func (d Dir) file(path string) string {
	return filepath.Join(string(d), filepath.FromSlash(path)+".txt")
}

// read returns the record of a package, an empty one if there is none.
func (d Dir) read(path string) (*Record, error) {
	text, err := os.ReadFile(d.file(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseRecord(string(text)), nil
}

// records returns all records, those of packages that no longer exist included.
func (d Dir) records(packages []Package) (map[string]*Record, error) {
	all := map[string]*Record{}
	for _, p := range packages {
		r, err := d.read(p.Path)
		if err != nil {
			return nil, err
		}
		all[p.Path] = r
	}
	err := filepath.WalkDir(string(d), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // before the first one
		}
		if err != nil || e.IsDir() || filepath.Ext(name) != ".txt" {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(strings.TrimSuffix(name, ".txt"), string(d)+string(filepath.Separator)))
		all[path], err = d.read(path)
		return err
	})
	return all, err
}

// Check returns what is wrong: lines that differ from the records, and changes since the last release that no unreleased
// entry of the changelog names.
func (d Dir) Check(packages []Package, log *changelog.File) error {
	updated, err := d.updated(packages)
	if err != nil {
		return err
	}
	var problems []error
	entries := log.Entries(changelog.Unreleased)
	for _, path := range sortedKeys(updated) {
		r, err := d.read(path)
		if err != nil {
			return err
		}
		was, is := r.current(), updated[path].current()
		for _, line := range is {
			if !slices.Contains(was, line) {
				problems = append(problems, fmt.Errorf("%s: not recorded: %s (make api)", path, line))
			}
		}
		for _, line := range was {
			if !slices.Contains(is, line) {
				problems = append(problems, fmt.Errorf("%s: recorded, but gone: %s (make api)", path, line))
			}
		}
		problems = append(problems, uncovered(path, updated[path], entries)...)
	}
	return errors.Join(problems...)
}

func (d Dir) updated(packages []Package) (map[string]*Record, error) {
	all, err := d.records(packages)
	if err != nil {
		return nil, err
	}
	for path, r := range all {
		n := slices.IndexFunc(packages, func(p Package) bool { return p.Path == path })
		if n < 0 {
			all[path] = r.update(nil)
		} else {
			all[path] = r.update(packages[n].Lines)
		}
	}
	return all, nil
}

// Update writes the records of these packages, and keeps what they were at the last release. It writes nothing as long as the
// changelog does not name every change.
func (d Dir) Update(packages []Package, log *changelog.File) error {
	updated, err := d.updated(packages)
	if err != nil {
		return err
	}
	var problems []error
	for _, path := range sortedKeys(updated) {
		problems = append(problems, uncovered(path, updated[path], log.Entries(changelog.Unreleased))...)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return d.write(updated)
}

// Release writes records of these packages as those of a release: nothing has changed since.
func (d Dir) Release(packages []Package) error {
	updated, err := d.updated(packages)
	if err != nil {
		return err
	}
	for path, r := range updated {
		updated[path] = &Record{released: r.current()}
	}
	return d.write(updated)
}

// Changed returns a problem for each package whose record has changes since the last release.
func (d Dir) Changed(packages []Package) error {
	all, err := d.records(packages)
	if err != nil {
		return err
	}
	var problems []error
	for _, path := range sortedKeys(all) {
		if r := all[path]; len(r.added)+len(r.removed) > 0 {
			problems = append(problems, fmt.Errorf("%s has changes since the last release", d.file(path)))
		}
	}
	return errors.Join(problems...)
}

// write writes files, and removes those of packages that neither are nor were at the last release.
func (d Dir) write(records map[string]*Record) error {
	for path, r := range records {
		name := d.file(path)
		if len(r.released)+len(r.added)+len(r.removed) == 0 {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(r.text(path)), 0o666); err != nil {
			return err
		}
	}
	return nil
}
