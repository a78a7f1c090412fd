package licences

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set is a set of modules of other projects, by path and version.
type Set map[string]*Module

// Module is a module of another project.
type Module struct {
	Path, Version string
	Licences      []string          // SPDX identifiers
	Users         []string          // those of our modules that link it
	files         map[string]string // licences and notices: paths by names relative to the module
}

// Add adds the modules of a list of packages, the output of go list -deps -json=Module,Dir,Standard. The user is the module
// of ours that the packages are linked into, "" if only tests use them.
func (s Set) Add(goList []byte, user string, own func(path string) bool) error {
	for d := json.NewDecoder(bytes.NewReader(goList)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct{ Path, Version, Dir string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || own(p.Module.Path) {
			continue
		}
		key := p.Module.Path + "@" + p.Module.Version
		m := s[key]
		if m == nil {
			m = &Module{Path: p.Module.Path, Version: p.Module.Version, files: map[string]string{}}
			s[key] = m
		}
		if user != "" && !slices.Contains(m.Users, user) {
			m.Users = append(m.Users, user)
		}
		if err := m.look(p.Dir, p.Module.Dir); err != nil {
			return err
		}
	}
}

// look takes the licences and notices of a package's directory and those above it, up to the module's.
func (m *Module) look(dir, top string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !isLicence(e.Name()) && !isNotice(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if m.files[name] != "" {
			continue
		}
		m.files[name] = path
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !isLicence(e.Name()) {
			continue
		}
		ids := classify(string(text))
		if len(ids) == 0 {
			return fmt.Errorf("%s %s: no known licence in %s", m.Path, m.Version, name)
		}
		for _, id := range ids {
			if !slices.Contains(m.Licences, id) {
				m.Licences = append(m.Licences, id)
			}
		}
	}
	if above := filepath.Dir(dir); dir != top && above != dir {
		return m.look(above, top)
	}
	return nil
}

// sorted returns the modules by path and version.
func (s Set) sorted() []*Module {
	return slices.SortedFunc(maps.Values(s), func(a, b *Module) int {
		return strings.Compare(a.Path+" "+a.Version, b.Path+" "+b.Version)
	})
}

// Check returns a problem for each module without a licence, and for each that is linked and has a licence that binds the program.
func (s Set) Check() error {
	var problems []error
	for _, m := range s.sorted() {
		if len(m.Licences) == 0 {
			problems = append(problems, fmt.Errorf("%s %s has no file with a licence", m.Path, m.Version))
		}
		for _, id := range m.Licences {
			if len(m.Users) > 0 && !slices.Contains(linkable, id) {
				problems = append(problems, fmt.Errorf("%s %s, which %s links, has the licence %s", m.Path, m.Version, strings.Join(m.Users, " and "), id))
			}
		}
	}
	return errors.Join(problems...)
}

// Table returns the table of all modules in Markdown.
func (s Set) Table() string {
	var b strings.Builder
	b.WriteString("| Module | Version | Licence | Linked into |\n|---|---|---|---|\n")
	for _, m := range s.sorted() {
		slices.Sort(m.Licences)
		slices.Sort(m.Users)
		users := strings.Join(m.Users, ", ")
		if users == "" {
			users = "tests only"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Path, m.Version, strings.Join(m.Licences, ", "), users)
	}
	return b.String()
}

// Texts returns the licences and notices of the modules that a module of ours links, one after the other.
func (s Set) Texts(user string) (string, error) {
	var b strings.Builder
	for _, m := range s.sorted() {
		if !slices.Contains(m.Users, user) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.files)) {
			text, err := os.ReadFile(m.files[name])
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "== %s %s: %s\n\n%s\n\n", m.Path, m.Version, filepath.ToSlash(name), strings.TrimSpace(string(text)))
		}
	}
	return b.String(), nil
}
