package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func (o outcome) String() string {
	return [...]string{"NOT COVERED", "LIVED", "KILLED", "TIME LIMIT", "NOT VIABLE"}[o]
}

func (m *mutant) where() string {
	return fmt.Sprintf("%s:%d %s %s `%s`", m.file.name, m.line, m.function, m.operator, m.text)
}

// choose leaves only the mutants that the options name.
func (t *target) choose(o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	var before string
	if o.again != "" {
		text, err := os.ReadFile(o.again)
		if err != nil {
			return err
		}
		before = regexp.MustCompile(`:\d+ `).ReplaceAllString(string(text), " ")
	}
	if o.again != "" && o.keep != "" {
		if t.earlier, err = readFigures(before, t.name); err != nil {
			return fmt.Errorf("%s: %w", o.again, err)
		}
		if have := len(t.mutants); t.earlier.mutants+t.earlier.notViable != have {
			return fmt.Errorf("%s has results of %d mutants, and the package has %d: try all", o.again, t.earlier.mutants+t.earlier.notViable, have)
		}
	}
	t.mutants = slices.DeleteFunc(t.mutants, func(m *mutant) bool {
		return !only.MatchString(m.where()) || !strings.Contains(before, m.key()) && o.again != ""
	})
	return nil
}

// figures are those of a package's results.
type figures struct{ mutants, covered, killed, endless, notViable int }

const figuresFormat = "package %s: mutants %d, covered %d, killed %d, by the time limit %d, not viable %d\n"

// readFigures finds the figures of a package in results.
func readFigures(results, pkg string) (*figures, error) {
	var f figures
	_, rest, ok := strings.Cut("\n"+results, "\npackage "+pkg+": ")
	_, err := fmt.Sscanf("package "+pkg+": "+rest, strings.Replace(figuresFormat, "%s", pkg, 1), &f.mutants, &f.covered, &f.killed, &f.endless, &f.notViable)
	if !ok || err != nil {
		return nil, fmt.Errorf("no results of package %s", pkg)
	}
	return &f, nil
}

// with adds the figures of mutants that lived or were not covered before. Some others have the same description, and were
// killed both times.
func (f *figures) with(again figures) figures {
	others := f.killed - (again.mutants - (f.mutants - f.killed))
	return figures{f.mutants, others + again.covered, others + again.killed, f.endless + again.endless, f.notViable}
}

// readReasons returns why mutants that live do, by their keys. A line of the file is a key, a colon and the reason.
func readReasons(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		i := strings.Index(line, "`: ")
		if i < 0 {
			return nil, fmt.Errorf("%s: no reason in %q", name, line)
		}
		reasons[line[:i+1]] = line[i+3:]
	}
	return reasons, nil
}

// report describes the outcomes: a line of figures, and one for each mutant that no test notices.
func (t *target) report(reasons map[string]string) string {
	var counts [notViable + 1]int
	var list strings.Builder
	for _, m := range t.mutants {
		counts[m.outcome]++
		reason := reasons[m.key()]
		if m.outcome != lived && m.outcome != notCovered {
			if reason != "" && m.outcome != notViable {
				fmt.Printf("the explained mutant does not live: %s\n", m.where())
			}
			continue
		}
		fmt.Fprintf(&list, "%s %s", strings.ToLower(strings.ReplaceAll(m.outcome.String(), " ", "-")), m.where())
		if reason != "" {
			fmt.Fprintf(&list, ": %s", reason)
		}
		list.WriteString("\n")
	}
	all := len(t.mutants) - counts[notViable]
	f := figures{all, all - counts[notCovered], counts[killed] + counts[endless], counts[endless], counts[notViable]}
	if t.earlier != nil {
		f = t.earlier.with(f)
	}
	return fmt.Sprintf(figuresFormat, t.name, f.mutants, f.covered, f.killed, f.endless, f.notViable) + list.String()
}

// about says how results came about.
func about(pkg string, again bool) (string, error) {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	options := "KEEP=1"
	if again {
		options = "AGAIN=1 KEEP=1"
	}
	return fmt.Sprintf("make mutate PKG=./%s %s, commit %s, %s, %s",
		pkg, options, strings.TrimSpace(string(commit)), time.Now().UTC().Format(time.DateOnly), runtime.Version()), nil
}

// keep writes a package's results into a file, in place of earlier ones. A section is what follows the line that starts with #.
func keep(name, pkg, about, text string) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	sections := map[string]string{pkg: "# " + about + "\n" + text}
	for part := range strings.SplitSeq("\n"+string(old), "\n# ") {
		_, rest, _ := strings.Cut(part, "\npackage ")
		if other, _, ok := strings.Cut(rest, ":"); ok && other != pkg {
			sections[other] = "# " + strings.TrimSpace(part) + "\n"
		}
	}
	names := make([]string, 0, len(sections))
	for n := range sections {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		b.WriteString(sections[n])
	}
	return os.WriteFile(name, []byte(b.String()), 0o644) //nolint:gosec // It is committed.
}
