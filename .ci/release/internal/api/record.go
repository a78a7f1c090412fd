package api

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir is a directory of records: PATH.txt has the lines of the package PATH.
type Dir string

func (d Dir) file(path string) string {
	return filepath.Join(string(d), filepath.FromSlash(path)+".txt")
}

// read returns the recorded lines by package.
func (d Dir) read() (map[string][]string, error) {
	all := map[string][]string{}
	err := filepath.WalkDir(string(d), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // before the first one
		}
		if err != nil || e.IsDir() || filepath.Ext(name) != ".txt" {
			return err
		}
		text, err := os.ReadFile(name)
		path := filepath.ToSlash(strings.TrimPrefix(strings.TrimSuffix(name, ".txt"), string(d)+string(filepath.Separator)))
		all[path] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return err
	})
	return all, err
}

// Check returns the lines that differ from the records.
func (d Dir) Check(packages []Package) error {
	recorded, err := d.read()
	if err != nil {
		return err
	}
	var problems []error
	say := func(path string, lines, other []string, problem string) {
		for _, line := range lines {
			if !slices.Contains(other, line) {
				problems = append(problems, fmt.Errorf("%s: %s: %s (make api)", path, problem, line))
			}
		}
	}
	for _, p := range packages {
		say(p.Path, p.Lines, recorded[p.Path], "not recorded")
		say(p.Path, recorded[p.Path], p.Lines, "recorded, but gone")
		delete(recorded, p.Path)
	}
	for path, lines := range recorded {
		say(path, lines, nil, "recorded, but gone")
	}
	return errors.Join(problems...)
}

// Write replaces the records. A package without a public API has no file.
func (d Dir) Write(packages []Package) error {
	if err := os.RemoveAll(string(d)); err != nil {
		return err
	}
	for _, p := range packages {
		if len(p.Lines) == 0 {
			continue
		}
		name := d.file(p.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(strings.Join(p.Lines, "\n")+"\n"), 0o666); err != nil {
			return err
		}
	}
	return nil
}
