// Command report writes docs/benchmarks.md, and the tables of figures in README.md and docs/collector.md, from the files in results
// and the templates beside it.
//
//	go run ./report
package main

import (
	"embed"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

//go:embed *.tmpl
var templates embed.FS

// documents are the paths of the generated texts, by their templates. Only benchmarks.md is generated as a whole.
var documents = map[string]string{
	"benchmarks.md.tmpl": filepath.Join("docs", "benchmarks.md"),
	"collector.md.tmpl":  filepath.Join("docs", "collector.md"),
	"readme.md.tmpl":     "README.md",
}

// The lines around the table in a document.
const (
	tableBegin = "<!-- figures: written by go run ./report in benchmarks -->\n"
	tableEnd   = "<!-- end of figures -->\n"
)

var files = map[string]string{
	"count":     "6.12-instructions.txt", // instructions, in a guest
	"guest":     "6.12-time.txt",         // nanoseconds, in a guest with two processors
	"machine":   "native.txt",            // nanoseconds, on a machine without user_events
	"rate":      "6.12-rate.txt",         // processor time of the command for each of a million records
	"memory":    "memory.txt",            // nanoseconds of shared memory and LTTng-UST, on a machine; instructions of LTTng-UST
	"collector": "6.12-collector.txt",    // a Collector: instructions in a guest; Native and Receiver on the machine that emulates it
}

func main() {
	results := flag.String("results", "results", "the `directory` of the figures")
	root := flag.String("root", "..", "the repository's `directory`")
	flag.Parse()
	texts, err := render(*results, *root)
	for name, text := range texts {
		if err == nil {
			err = os.WriteFile(filepath.Join(*root, name), []byte(text), 0o644) //nolint:gosec // It is committed.
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func render(results, root string) (map[string]string, error) {
	all, err := load(results)
	if err != nil {
		return nil, err
	}
	settings, err := os.ReadFile(filepath.Join(root, "collector", "usereventsreceiver", "README.md"))
	if err != nil {
		return nil, err
	}
	t, err := template.New("").Funcs(functions(all, string(settings))).ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for source, name := range documents {
		var out strings.Builder
		if err := t.ExecuteTemplate(&out, source, nil); err != nil {
			return nil, err
		}
		text := out.String()
		if source != "benchmarks.md.tmpl" {
			old, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			before, rest, ok := strings.Cut(string(old), tableBegin)
			_, after, ended := strings.Cut(rest, tableEnd)
			if !ok || !ended {
				return nil, fmt.Errorf("%s has no place for its table", name)
			}
			text = before + tableBegin + text + tableEnd + after
		}
		texts[name] = text
	}
	return texts, nil
}

type runs map[string]*figures.Run

func load(dir string) (runs, error) {
	all := runs{}
	for run, file := range files {
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		all[run], err = figures.Parse(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return all, nil
}

// value returns a value of a benchmark: its cost, its number of calls, its allocations, or a value in another unit.
func (all runs) value(run, name, unit string) (number, error) {
	f, ok := all[run].Figures[name]
	v, known := map[string]float64{"cost": f.Cost, "calls": float64(f.Calls), "allocs": f.Allocs}[unit]
	if !known {
		v, known = f.Others[unit]
	}
	if !ok || !known {
		return 0, fmt.Errorf("%s has no %s of %s", files[run], unit, name)
	}
	return number(v), nil
}

func (all runs) about(run string) string {
	var parts []string
	for _, key := range []string{"kernel", "host", "processors", "go", "commit", "date", "command"} {
		if v := all[run].About[key]; v != "" {
			parts = append(parts, key+" "+v)
		}
	}
	return strings.Join(parts, "; ")
}

// A number is printed with commas, and rounded to an integer from ten on.
type number float64

func (n number) String() string {
	if n < 10 {
		return strconv.FormatFloat(float64(n), 'f', 1, 64)
	}
	s := strconv.FormatFloat(math.Round(float64(n)), 'f', -1, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// functions returns the functions of the templates. settings is the receiver's README, which has a table of settings.
func functions(all runs, settings string) template.FuncMap {
	cost := func(run string) func(name string) (number, error) {
		return func(name string) (number, error) { return all.value(run, name, "cost") }
	}
	collector := func(name, unit string) (number, error) {
		return all.value("collector", "collector/distribution/internal/collectortest:"+name, unit)
	}
	turn := func(unit string) (number, error) { return all.value("memory", "MemoryTime", unit) }
	return template.FuncMap{
		"value": all.value, "about": all.about,
		"count": cost("count"), "guest": cost("guest"), "machine": cost("machine"),
		"allocs": func(name string) (number, error) { return all.value("count", name, "allocs") },
		"turn":   turn, "collector": collector,
		// ratio has the median of a ratio, and the range of eight of ten rounds.
		"ratio": func(name string) (string, error) {
			var v [3]number
			for i, unit := range []string{"-median-ratio", "-low-ratio", "-high-ratio"} {
				var err error
				if v[i], err = turn(name + unit); err != nil {
					return "", err
				}
			}
			return fmt.Sprintf("%.2f (%.2f to %.2f)", float64(v[0]), float64(v[1]), float64(v[2])), nil
		},
		"setting": func(key string) (number, error) {
			m := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(key) + "` \\| (\\d+) \\|").FindStringSubmatch(settings)
			if m == nil {
				return 0, fmt.Errorf("the receiver's README has no default of %s", key)
			}
			v, err := strconv.ParseFloat(m[1], 64)
			return number(v), err
		},
		"fixed": func(digits int, v number) string { return strconv.FormatFloat(float64(v), 'f', digits, 64) },
		"exact": func(v number) string { return strconv.FormatFloat(float64(v), 'f', -1, 64) },
		"short": func(v number) string { return fmt.Sprintf("%.3g", float64(v)) },
		"sub":   func(a, b number) number { return a - b },
		"div":   func(a, b any) number { return of(a) / of(b) },
		"mul":   func(a, b any) number { return of(a) * of(b) },
		"add": func(list ...any) (sum number) {
			for _, v := range list {
				sum += of(v)
			}
			return sum
		},
	}
}

// of returns an operand, which is a constant of the template or a number.
func of(v any) number {
	switch v := v.(type) {
	case int:
		return number(v)
	case float64:
		return number(v)
	default:
		return v.(number)
	}
}
