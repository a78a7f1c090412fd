package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// functions returns the functions of the templates.
func functions(all *runs) template.FuncMap {
	return template.FuncMap{
		"n":       number(all.counted),
		"ns":      number(all.timed),
		"machine": number(all.native),
		"counted": func() string { return about(all.counted) },
		"timed":   func() string { return about(all.timed) },
		"native":  func() string { return about(all.native) },
		"turned":  func() string { return about(all.memory) },
		"rounds":  func() int { return all.memory.Figures["MemoryTime"].Calls },
		"memory":  func() (string, error) { return memoryTable(all) },
		"turn": func(unit string) (string, error) {
			v, err := turns(all, unit)
			if err != nil {
				return "", err
			}
			return thousands(v[0]), nil
		},
		"ratio":   func(turn string) (string, error) { return turnRatio(all, turn) },
		"rated":   func() string { return about(all.rate) },
		"rates":   func() (string, error) { return rates(all.rate) },
		"sizing":  func() (*sizing, error) { return newSizing(all.collector, all.defaults) },
		"table": func(group, columns string) (string, error) {
			return contenders(all.counted, group, strings.Fields(columns))
		},
		"disabled": func() (string, error) {
			return contenders(all.counted, "Off", []string{"none", "five", "ten"}, costs(all.native))
		},
		"enabled": func() (string, error) {
			json, err := cost(all.timed, "On/slog-json/five")
			if err != nil {
				return "", err
			}
			return contenders(all.counted, "On", []string{"none", "five", "ten"}, allocs(all.counted), ratios(all.timed, json), costs(all.native))
		},
		"spans": func(group string) (string, error) {
			return contenders(all.counted, group, []string{"none", "two", "ten"}, allocs(all.counted), costs(all.native))
		},
		"requests": func() (string, error) { return requests(all.counted) },
		"points":   func(group string) (string, error) { return points(all.counted, group) },
		"targets":  func() (string, error) { return targetTable(all.counted, targets) },
		"per": func(name string, n float64) (string, error) {
			v, err := cost(all.counted, name)
			return thousands(v / n), err
		},
	}
}

// number returns a function that returns the cost in a figure of a run.
func number(run *figures.Run) func(name string) (string, error) {
	return func(name string) (string, error) {
		v, err := cost(run, name)
		return thousands(v), err
	}
}

// thousands returns a number with commas, rounded to an integer from ten on.
func thousands(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// group returns the contenders of the benchmarks GROUP/CONTENDER/COLUMN that are on the page, the cheapest in a column first.
func group(run *figures.Run, name, column string) []string {
	var list []string
	for figure := range run.Figures {
		rest, ok := strings.CutPrefix(figure, name+"/")
		contender, _, two := strings.Cut(rest, "/")
		if ok && two && shown(name, contender) && !slices.Contains(list, contender) {
			list = append(list, contender)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		x, y := run.Figures[name+"/"+a+"/"+column].Cost, run.Figures[name+"/"+b+"/"+column].Cost
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return list
}

// contenders returns the rows of a table: one contender in each, one figure in each column, then a cell of each of more for the
// figure by which the rows are sorted.
func contenders(run *figures.Run, name string, columns []string, more ...cell) (string, error) {
	sorted := columns[0]
	for _, column := range []string{"five", "two"} {
		if slices.Contains(columns, column) {
			sorted = column
		}
	}
	list := group(run, name, sorted)
	if len(list) == 0 {
		return "", fmt.Errorf("no figure for %s", name)
	}
	var b strings.Builder
	for _, contender := range list {
		l, err := label(name, contender)
		if err != nil {
			return "", err
		}
		cells, of := []string{l}, costs(run)
		for _, column := range columns {
			cells = append(cells, of(name+"/"+contender+"/"+column))
		}
		for _, c := range more {
			cells = append(cells, c(name+"/"+contender+"/"+sorted))
		}
		row(&b, cells)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// A cell returns a text for a figure, "" if it was not measured.
type cell func(figure string) string

// cells returns a cell for the figures of a run.
func cells(run *figures.Run, text func(f figures.Figure) string) cell {
	return func(name string) string {
		if f, ok := run.Figures[name]; ok {
			return text(f)
		}
		return ""
	}
}

func costs(run *figures.Run) cell {
	return cells(run, func(f figures.Figure) string { return thousands(f.Cost) })
}

func allocs(run *figures.Run) cell {
	return cells(run, func(f figures.Figure) string { return strconv.FormatFloat(f.Allocs, 'f', -1, 64) })
}

func ratios(run *figures.Run, to float64) cell {
	return cells(run, func(f figures.Figure) string { return fmt.Sprintf("%.2f", f.Cost/to) })
}

func row(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// requests returns the rows of the loggers of requests: instructions, and allocations in parentheses.
func requests(run *figures.Run) (string, error) {
	var b strings.Builder
	for _, contender := range group(run, "Request", "on") {
		l, err := label("Request", contender)
		if err != nil {
			return "", err
		}
		cells := []string{l}
		for _, column := range []string{"off", "on", "error"} {
			cell := ""
			if f, ok := run.Figures["Request/"+contender+"/"+column]; ok {
				cell = fmt.Sprintf("%s (%g)", thousands(f.Cost), f.Allocs)
			}
			cells = append(cells, cell)
		}
		row(&b, cells)
	}
	if b.Len() == 0 {
		return "", errors.New("no figure for Request")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// points returns the rows of exports: instructions for each data point, and allocations in parentheses. The name of an export's
// figure says how many points it has.
func points(run *figures.Run, name string) (string, error) {
	rows := map[string]map[string]figures.Figure{}
	for figure, f := range run.Figures {
		rest, ok := strings.CutPrefix(figure, name+"/")
		contender, export, two := strings.Cut(rest, "/")
		kind, count, three := strings.Cut(export, "=")
		if !ok || !two || !three || !shown(name, contender) {
			continue
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return "", fmt.Errorf("%s: %w", figure, err)
		}
		if rows[contender] == nil {
			rows[contender] = map[string]figures.Figure{}
		}
		rows[contender][kind] = figures.Figure{Cost: f.Cost / n, Allocs: f.Allocs / n}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("no figure for %s", name)
	}
	var b strings.Builder
	for _, contender := range slices.SortedFunc(maps.Keys(rows), func(x, y string) int {
		return cmp.Or(cmp.Compare(rows[x]["sum"].Cost, rows[y]["sum"].Cost), cmp.Compare(x, y))
	}) {
		l, err := label(name, contender)
		if err != nil {
			return "", err
		}
		cells := []string{l}
		for _, kind := range []string{"sum", "histogram"} {
			f, ok := rows[contender][kind]
			if !ok {
				return "", fmt.Errorf("no figure for %s/%s of a %s", name, contender, kind)
			}
			cells = append(cells, fmt.Sprintf("%s (%.3g)", thousands(f.Cost), f.Allocs))
		}
		row(&b, cells)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
