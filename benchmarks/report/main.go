// Command report writes docs/benchmarks.md, its plot, and the table in README.md from the
// figures in results.
//
//	go run ./report
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

//go:embed benchmarks.md.tmpl
var page string

//go:embed readme.md.tmpl
var table string

func main() {
	results := flag.String("results", filepath.Join("results", "6.12.txt"), "the figures")
	root := flag.String("root", "..", "the repository")
	flag.Parse()
	if err := run(*results, *root); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results, root string) error {
	text, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	files, err := render(string(text), string(readme))
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil { //nolint:gosec // It is committed.
			return err
		}
	}
	return nil
}

// What the table in the README stands between.
const (
	tableBegin = "<!-- figures: written by go run ./report in benchmarks -->\n"
	tableEnd   = "<!-- end of figures -->\n"
)

var line = regexp.MustCompile(`(?m)^Benchmark(\S+) (\d+) ns/op$`)

// render returns the contents of the files, by their paths.
func render(results, readme string) (files map[string]string, err error) {
	figures := map[string]int{}
	for _, m := range line.FindAllStringSubmatch(results, -1) {
		if figures[m[1]], err = strconv.Atoi(m[2]); err != nil {
			return nil, err
		}
	}
	about, _, _ := strings.Cut(results, "\n")
	funcs := template.FuncMap{
		"n": func(name string) (string, error) {
			v, ok := figures[name]
			if !ok {
				return "", fmt.Errorf("no figure for %s", name)
			}
			return thousands(v), nil
		},
		"about": func() string { return strings.TrimPrefix(about, "# ") },
	}
	fill := func(text string) (string, error) {
		var out strings.Builder
		t, err := template.New("").Funcs(funcs).Parse(text)
		if err == nil {
			err = t.Execute(&out, nil)
		}
		return out.String(), err
	}
	md, err := fill(page)
	if err != nil {
		return nil, err
	}
	rows, err := fill(table)
	if err != nil {
		return nil, err
	}
	before, rest, ok := strings.Cut(readme, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return nil, errors.New("README.md has no place for the table")
	}
	svg, err := plot(figures)
	return map[string]string{
		filepath.Join("docs", "benchmarks.md"):  md,
		filepath.Join("docs", "benchmarks.svg"): svg,
		"README.md":                             before + tableBegin + rows + tableEnd + after,
	}, err
}

// thousands returns a number with commas.
func thousands(v int) string {
	s := strconv.Itoa(v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
