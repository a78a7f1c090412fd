// Command report writes docs/benchmarks.md, its plots, and the table in README.md from the
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
	"strings"
	"text/template"
)

//go:embed benchmarks.md.tmpl
var page string

//go:embed readme.md.tmpl
var table string

func main() {
	results := flag.String("results", "results", "the `directory` of the figures")
	root := flag.String("root", "..", "the repository's `directory`")
	flag.Parse()
	if err := run(*results, *root); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results, root string) error {
	all, err := load(results)
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	files, err := render(all, string(readme))
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

// render returns the contents of the files, by their paths.
func render(all *runs, readme string) (map[string]string, error) {
	before, rest, ok := strings.Cut(readme, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return nil, errors.New("README.md has no place for the table")
	}
	fill := func(text string) (string, error) {
		var out strings.Builder
		t, err := template.New("").Funcs(functions(all)).Parse(text)
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
	on, err := plotOn(all.counted)
	if err != nil {
		return nil, err
	}
	parallel, err := plotParallel(all.timed)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		filepath.Join("docs", "benchmarks.md"):           md,
		filepath.Join("docs", "benchmarks-on.svg"):       on,
		filepath.Join("docs", "benchmarks-parallel.svg"): parallel,
		"README.md": before + tableBegin + rows + tableEnd + after,
	}, nil
}
