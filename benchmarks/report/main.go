// Command report writes docs/benchmarks.md, its plots, and the figures in README.md, docs/collector.md and benchmarks/targets.md
// from the files in results. It draws the other pictures of the documents, too.
//
//	go run ./report
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed benchmarks.md.tmpl
var page string

// tables are the templates of the tables in documents.
var tables = map[string]string{
	"README.md": readmeTable, filepath.Join("docs", "collector.md"): collectorTable,
	filepath.Join("benchmarks", "targets.md"): targetsTable,
}

//go:embed readme.md.tmpl
var readmeTable string

//go:embed targets.md.tmpl
var targetsTable string

//go:embed collector.md.tmpl
var collectorTable string

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
	if all.defaults, err = readDefaults(root); err != nil {
		return err
	}
	documents, err := readDocuments(root)
	if err != nil {
		return err
	}
	files, err := render(all, documents)
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

// readDocuments returns the documents with tables, by their paths.
func readDocuments(root string) (map[string]string, error) {
	documents := map[string]string{}
	for name := range tables {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		documents[name] = string(text)
	}
	return documents, nil
}

// The lines around the table in a document.
const (
	tableBegin = "<!-- figures: written by go run ./report in benchmarks -->\n"
	tableEnd   = "<!-- end of figures -->\n"
)

// fill executes a template.
func fill(text string, f template.FuncMap) (string, error) {
	var out strings.Builder
	t, err := template.New("").Funcs(f).Parse(text)
	if err == nil {
		err = t.Execute(&out, nil)
	}
	return out.String(), err
}

// render returns the contents of all generated files, by their paths. documents are the present contents of those with tables.
func render(all *runs, documents map[string]string) (map[string]string, error) {
	f := functions(all)
	files := map[string]string{}
	for name, text := range documents {
		before, rest, ok := strings.Cut(text, tableBegin)
		_, after, ended := strings.Cut(rest, tableEnd)
		if !ok || !ended {
			return nil, fmt.Errorf("%s has no place for its table", name)
		}
		rows, err := fill(tables[name], f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = before + tableBegin + rows + tableEnd + after
	}
	for name, generate := range map[string]func() (string, error){
		"benchmarks.md":           func() (string, error) { return fill(page, f) },
		"benchmarks-off.svg":      func() (string, error) { return plotOff(all.counted) },
		"benchmarks-on.svg":       func() (string, error) { return plotOn(all.counted) },
		"benchmarks-parallel.svg": func() (string, error) { return plotParallel(all.timed) },
		"timeline.svg":            func() (string, error) { return plotTimeline(all.request), nil },
		"attach.svg":              func() (string, error) { return attach(), nil },
	} {
		content, err := generate()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[filepath.Join("docs", name)] = content
	}
	return files, nil
}
