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
		"mutants": func() string { return mutantTable(all.mutants, all.before) },
		"rates":   func() (string, error) { return rates(all.rate) },
		"sizing":  func() (*sizing, error) { return newSizing(all.collector, all.defaults) },
		"table": func(group, columns string) (string, error) {
			return contenders(all.counted, group, strings.Fields(columns))
		},
		"parallel": func(state string) (string, error) {
			return contenders(all.timed, "Parallel/"+state, []string{"goroutines=1", "goroutines=2", "goroutines=8", "goroutines=64"})
		},
		"times":    func() (string, error) { return times(all) },
		"allocs":   func() (string, error) { return allocations(all.counted) },
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

// group returns the contenders of the benchmarks GROUP/CONTENDER/COLUMN, the cheapest in a
// column first.
func group(run *figures.Run, name, column string) []string {
	var list []string
	for figure := range run.Figures {
		rest, ok := strings.CutPrefix(figure, name+"/")
		contender, _, two := strings.Cut(rest, "/")
		if ok && two && !slices.Contains(list, contender) {
			list = append(list, contender)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		x, y := run.Figures[name+"/"+a+"/"+column].Cost, run.Figures[name+"/"+b+"/"+column].Cost
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return list
}

// contenders returns the rows of a table: one contender in each, one figure in each column.
func contenders(run *figures.Run, name string, columns []string) (string, error) {
	sorted := columns[0]
	if slices.Contains(columns, "five") {
		sorted = "five"
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
		cells := []string{l}
		for _, column := range columns {
			cell := ""
			if f, ok := run.Figures[name+"/"+contender+"/"+column]; ok {
				cell = thousands(f.Cost)
			}
			cells = append(cells, cell)
		}
		row(&b, cells)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func row(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// times returns the rows of enabled calls with five attributes: instructions, and times in a guest and on a machine.
func times(all *runs) (string, error) {
	var b strings.Builder
	json, err := cost(all.timed, "On/slog-json/five")
	if err != nil {
		return "", err
	}
	for _, contender := range group(all.counted, "On", "five") {
		l, err := label("On", contender)
		if err != nil {
			return "", err
		}
		name := "On/" + contender + "/five"
		timed, err := cost(all.timed, name)
		if err != nil {
			return "", err
		}
		native := ""
		if f, ok := all.native.Figures[name]; ok {
			native = thousands(f.Cost)
		}
		row(&b, []string{l, thousands(all.counted.Figures[name].Cost), thousands(timed), fmt.Sprintf("%.2f", timed/json), native})
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
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
		if !ok || !two || !three {
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

// allocations returns the rows of enabled calls that allocate.
func allocations(run *figures.Run) (string, error) {
	var b strings.Builder
	for _, g := range []string{"On", "SpanOn"} {
		column := map[string]string{"On": "five", "SpanOn": "two"}[g]
		for _, contender := range group(run, g, column) {
			f := run.Figures[g+"/"+contender+"/"+column]
			if f.Allocs == 0 {
				continue
			}
			l, err := label(g, contender)
			if err != nil {
				return "", err
			}
			row(&b, []string{l, thousands(f.Bytes), strconv.FormatFloat(f.Allocs, 'f', -1, 64)})
		}
	}
	if b.Len() == 0 {
		return "", errors.New("no allocations")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
