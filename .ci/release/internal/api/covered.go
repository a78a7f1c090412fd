package api

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/userevents/userevents-go/.ci/release/internal/changelog"
)

// uncovered returns a problem for each change since the last release of a package that programs import, and that no unreleased entry
// names. An entry names a change if its
// code spans have
//
//   - the package: its path below the main module, or the last element of that, alone or before a dot;
//   - and what changed: a constant, variable, function or type by its name; a field or method as TYPE.NAME, or by its
//     name beside that of its type. All of a type that is new or gone are named by the type, all of a package that is new or gone by
//     the package.
func uncovered(records map[string]*Record, log *changelog.File) error {
	var problems []error
	entries := log.Entries(changelog.Unreleased)
	for _, pkg := range sortedKeys(records) {
		if IsInternal(pkg) {
			continue
		}
		r := records[pkg]
		whole := len(r.released) == 0 || len(r.current) == 0
		for _, line := range r.changed() {
			kind, name, member := itemOf(line)
			if !slices.ContainsFunc(entries, func(e changelog.Entry) bool {
				return namesPackage(e, pkg) && (whole || namesItem(e, pkg, name, member, r.wholeType(name)))
			}) {
				what := name
				if member != "" {
					what += "." + member
				}
				problems = append(problems, fmt.Errorf("CHANGELOG.md: no unreleased entry names the %s `%s` of package `%s`", kind, what, pkg))
			}
		}
	}
	return errors.Join(slices.CompactFunc(problems, func(a, b error) bool { return a.Error() == b.Error() })...)
}

// wholeType reports whether a type is new or gone.
func (r *Record) wholeType(name string) bool {
	has := func(lines []string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			kind, n, _ := itemOf(line)
			return kind == "type" && n == name
		})
	}
	return has(r.released) != has(r.current)
}

func namesPackage(e changelog.Entry, pkg string) bool {
	return e.Names(pkg) || e.Names(path.Base(pkg)) || e.NamesPrefix(path.Base(pkg)+".")
}

// namesItem reports whether an entry names an item of a package that it names.
func namesItem(e changelog.Entry, pkg, name, member string, wholeType bool) bool {
	named := func(s string) bool { return e.Names(s) || e.Names(path.Base(pkg)+"."+s) }
	if member == "" {
		return named(name)
	}
	return named(name+"."+member) || named(name) && (wholeType || named(member))
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
