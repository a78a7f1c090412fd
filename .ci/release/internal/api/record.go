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

// Record is the recorded API of a package: the lines of the last release, and those of now.
type Record struct{ released, current []string }

// The first two characters of a line in a file of a record. Other lines are comments.
const (
	markReleased = "  "
	markAdded    = "+ "
	markRemoved  = "- "
)

func parseRecord(text string) *Record {
	r := &Record{}
	for line := range strings.Lines(text) {
		mark, rest := line[:min(2, len(line))], strings.TrimSuffix(line[min(2, len(line)):], "\n")
		if mark == markReleased || mark == markRemoved {
			r.released = append(r.released, rest)
		}
		if mark == markReleased || mark == markAdded {
			r.current = append(r.current, rest)
		}
	}
	return r
}

// missing returns the lines of one list that the other one does not have.
func missing(lines, other []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(other, line) })
}

// changed returns the lines that were added or removed since the last release.
func (r *Record) changed() []string {
	return slices.Sorted(slices.Values(slices.Concat(missing(r.current, r.released), missing(r.released, r.current))))
}

// text returns the contents of a file. What was removed stands beside what replaced it.
func (r *Record) text(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The public API of %s, with + and - for what changed since the last release. Written by make api.\n", path)
	all := slices.Concat(r.released, r.current)
	slices.Sort(all)
	for _, line := range slices.Compact(all) {
		mark := markReleased
		if !slices.Contains(r.released, line) {
			mark = markAdded
		} else if !slices.Contains(r.current, line) {
			mark = markRemoved
		}
		b.WriteString(mark + line + "\n")
	}
	return b.String()
}

// Dir is a directory of records: PATH.txt for the package PATH.
type Dir string

func (d Dir) file(path string) string {
	return filepath.Join(string(d), filepath.FromSlash(path)+".txt")
}

// records returns the records of these packages, and those of packages that no longer exist.
func (d Dir) records(packages []Package) (map[string]*Record, error) {
	all := map[string]*Record{}
	for _, p := range packages {
		all[p.Path] = &Record{}
	}
	err := filepath.WalkDir(string(d), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // before the first one
		}
		if err != nil || e.IsDir() || filepath.Ext(name) != ".txt" {
			return err
		}
		text, err := os.ReadFile(name)
		path := filepath.ToSlash(strings.TrimPrefix(strings.TrimSuffix(name, ".txt"), string(d)+string(filepath.Separator)))
		all[path] = parseRecord(string(text))
		return err
	})
	return all, err
}

// updated returns the records with these packages as they are now.
func (d Dir) updated(packages []Package) (map[string]*Record, error) {
	all, err := d.records(packages)
	for _, r := range all {
		r.current = nil
	}
	for _, p := range packages {
		all[p.Path].current = p.Lines
	}
	return all, err
}

// Check returns what is wrong: lines that differ from the records, and changes since the last release that no unreleased
// entry of the changelog names.
func (d Dir) Check(packages []Package, log *changelog.File) error {
	recorded, err := d.records(packages)
	if err != nil {
		return err
	}
	updated, err := d.updated(packages)
	if err != nil {
		return err
	}
	var problems []error
	for _, path := range sortedKeys(updated) {
		was, is := recorded[path].current, updated[path].current
		for _, line := range missing(is, was) {
			problems = append(problems, fmt.Errorf("%s: not recorded: %s (make api)", path, line))
		}
		for _, line := range missing(was, is) {
			problems = append(problems, fmt.Errorf("%s: recorded, but gone: %s (make api)", path, line))
		}
	}
	return errors.Join(append(problems, uncovered(updated, log))...)
}

// Update writes the records of these packages, and keeps what they were at the last release. It writes nothing as long as the
// changelog does not name every change.
func (d Dir) Update(packages []Package, log *changelog.File) error {
	updated, err := d.updated(packages)
	if err != nil {
		return err
	}
	if err := uncovered(updated, log); err != nil {
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
	for _, r := range updated {
		r.released = r.current
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
		if len(all[path].changed()) > 0 {
			problems = append(problems, fmt.Errorf("%s has changes since the last release", d.file(path)))
		}
	}
	return errors.Join(problems...)
}

// write writes files, and removes those of packages that neither are nor were at the last release.
func (d Dir) write(records map[string]*Record) error {
	for path, r := range records {
		name := d.file(path)
		if len(r.released)+len(r.current) == 0 {
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
