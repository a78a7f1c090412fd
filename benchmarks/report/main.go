// Command report writes docs/benchmarks.md and its plot from the figures in results.
//
//	go run ./report
package main

import (
	_ "embed"
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

func main() {
	results := flag.String("results", filepath.Join("results", "6.12.txt"), "the figures")
	docs := flag.String("docs", filepath.Join("..", "docs"), "where the page goes")
	flag.Parse()
	if err := run(*results, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results, docs string) error {
	text, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	md, svg, err := render(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	if err := os.WriteFile(filepath.Join(docs, "benchmarks.svg"), []byte(svg), 0o644); err != nil { //nolint:gosec // It is committed.
		return err
	}
	return os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(md), 0o644) //nolint:gosec // It is committed.
}

var line = regexp.MustCompile(`(?m)^Benchmark(\S+) (\d+) ns/op$`)

// render returns the page and its plot.
func render(results string) (md, svg string, err error) {
	figures := map[string]int{}
	for _, m := range line.FindAllStringSubmatch(results, -1) {
		if figures[m[1]], err = strconv.Atoi(m[2]); err != nil {
			return "", "", err
		}
	}
	about, _, _ := strings.Cut(results, "\n")
	var out strings.Builder
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
	t, err := template.New("page").Funcs(funcs).Parse(page)
	if err != nil {
		return "", "", err
	}
	if err := t.Execute(&out, nil); err != nil {
		return "", "", err
	}
	svg, err = plot(figures)
	return out.String(), svg, err
}

// thousands returns a number with commas.
func thousands(v int) string {
	s := strconv.Itoa(v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
