// Package changelog reads CHANGELOG.md.
package changelog

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// Unreleased is the title of the section that collects changes until the next release.
const Unreleased = "Unreleased"

// File is a parsed CHANGELOG.md: a section for each release, the latest first, each a list of entries.
type File struct {
	path  string
	lines []string
}

// Read reads a file.
func Read(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &File{path, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}, nil
}

// section returns the lines below a heading of the second level, and the heading.
func (f *File) section(title string) (start, end int, heading string) {
	for n, line := range f.lines {
		switch {
		case heading == "" && (line == "## "+title || strings.HasPrefix(line, "## "+title+" ")):
			start, heading = n+1, line
		case heading != "" && strings.HasPrefix(line, "## "):
			return start, n, heading
		}
	}
	return start, len(f.lines), heading
}

// Entry is one item of a list.
type Entry struct {
	Line  int // where it begins, from 1
	Text  string
	names map[string]bool
}

// Entries returns the entries of a section, none if there is no such section.
func (f *File) Entries(title string) (entries []Entry) {
	start, end, heading := f.section(title)
	if heading == "" {
		return nil
	}
	for n := start; n < end; n++ {
		line := f.lines[n]
		switch {
		case strings.HasPrefix(line, "- "):
			entries = append(entries, Entry{Line: n + 1, Text: line[2:]})
		case strings.HasPrefix(line, "  ") && len(entries) > 0:
			entries[len(entries)-1].Text += " " + strings.TrimSpace(line)
		}
	}
	for n := range entries {
		entries[n].names = namesIn(entries[n].Text)
	}
	return entries
}

var (
	codeSpan = regexp.MustCompile("`[^`]+`")
	name     = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*([./][A-Za-z_][A-Za-z0-9_]*)*`)
)

// namesIn returns the names in the code spans of a text: identifiers, alone or joined by dots or slashes.
func namesIn(text string) map[string]bool {
	names := map[string]bool{}
	for _, span := range codeSpan.FindAllString(text, -1) {
		for _, n := range name.FindAllString(span, -1) {
			names[n] = true
		}
	}
	return names
}

// Names reports whether the entry has this name in a code span.
func (e Entry) Names(name string) bool { return e.names[name] }

// NamesPrefix reports whether the entry has a name in a code span that begins with this.
func (e Entry) NamesPrefix(prefix string) bool {
	for n := range e.names {
		if strings.HasPrefix(n, prefix) {
			return true
		}
	}
	return false
}

// Release returns a problem of the section of a version as the section of a release that is made now.
func (f *File) Release(version string) error {
	start, _, heading := f.section(version)
	if heading == "" {
		return fmt.Errorf("%s has no section \"## %s - DATE\"", f.path, version)
	}
	if _, err := time.Parse("## "+version+" - 2006-01-02", heading); err != nil {
		return fmt.Errorf("%s:%d: %q is not \"## %s - DATE\"", f.path, start, heading, version)
	}
	if len(f.Entries(version)) == 0 {
		return fmt.Errorf("%s:%d: the section of %s is empty", f.path, start, version)
	}
	if left := f.Entries(Unreleased); len(left) > 0 {
		return fmt.Errorf("%s:%d: the release leaves an unreleased change", f.path, left[0].Line)
	}
	return nil
}

// Cut makes the unreleased changes those of a version, and writes the file.
func (f *File) Cut(version string, day time.Time) error {
	start, end, heading := f.section(Unreleased)
	if heading == "" || len(f.Entries(Unreleased)) == 0 {
		return fmt.Errorf("%s has no unreleased changes", f.path)
	}
	lines := append([]string{}, f.lines[:start]...)
	lines = append(lines, "", "## "+version+" - "+day.Format(time.DateOnly))
	lines = append(lines, f.lines[start:end]...)
	f.lines = append(lines, f.lines[end:]...)
	return os.WriteFile(f.path, []byte(strings.Join(f.lines, "\n")+"\n"), 0o644)
}
