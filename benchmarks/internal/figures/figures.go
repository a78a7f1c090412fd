// Package figures reads what benchmarks print and keeps it in files of the same format, which
// https://go.dev/design/14313-benchmark-format describes and benchstat reads.
package figures

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Figure is the cost of a call.
type Figure struct {
	Calls  int     // in the run that the figure is from
	Cost   float64 // in the run's unit
	Bytes  float64 // allocated; 0 too if the benchmark does not say
	Allocs float64
	Others map[string]float64 // values in other units; nil if there is none
}

// Run is what benchmarks printed. Of a benchmark that ran several times the cheapest run is
// kept: what an interrupt adds is not the program's.
type Run struct {
	Unit  string            // of all costs: ns/op or Instructions
	About map[string]string // what the figures depend on: kernel, cpu, ...
	// Figures has the benchmarks' names without "Benchmark" and number of processors. Those of
	// another package than benchmarks begin with its path in this repository and a colon.
	Figures map[string]Figure
}

// Instructions is the unit of runs in a guest that counts them.
const Instructions = "instructions/op"

const (
	module  = "github.com/userevents/userevents-go/"
	pkgKey  = "pkg"
	ownPkg  = module + "benchmarks"
	timings = "ns/op"
)

var (
	about     = regexp.MustCompile(`^([a-z][a-z0-9_]*): (.+)$`)
	benchmark = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+(\d+)\s+(.+)$`)
)

// Parse reads the output of any number of test binaries, one after the other.
func Parse(r io.Reader) (*Run, error) {
	run := &Run{Unit: timings, About: map[string]string{}, Figures: map[string]Figure{}}
	prefix := ""
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return run, s.Err()
		}
		if m := about.FindStringSubmatch(s.Text()); m != nil {
			switch {
			case m[1] != pkgKey:
				run.About[m[1]] = m[2]
			case m[2] == ownPkg:
				prefix = ""
			default:
				prefix = strings.TrimPrefix(m[2], module) + ":"
			}
			continue
		}
		m := benchmark.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		f, unit, err := parseFigure(m[2], m[3])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Text(), err)
		}
		if unit == Instructions {
			run.Unit = unit
		}
		name := prefix + m[1]
		if old, ok := run.Figures[name]; !ok || f.Cost < old.Cost {
			run.Figures[name] = f
		}
	}
}

// parseFigure parses what follows a benchmark's name: a count, then pairs of value and unit.
func parseFigure(calls, values string) (f Figure, unit string, err error) {
	if f.Calls, err = strconv.Atoi(calls); err != nil {
		return f, "", err
	}
	words := strings.Fields(values)
	for ; len(words) >= 2; words = words[2:] {
		v, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			return f, "", err
		}
		switch words[1] {
		case timings, Instructions:
			f.Cost, unit = v, words[1]
		case "B/op":
			f.Bytes = v
		case "allocs/op":
			f.Allocs = v
		case "MB/s": // follows from the cost
		default:
			if f.Others == nil {
				f.Others = map[string]float64{}
			}
			f.Others[words[1]] = v
		}
	}
	if unit == "" {
		return f, "", fmt.Errorf("neither %s nor %s", timings, Instructions)
	}
	return f, unit, nil
}

// WriteTo writes what Parse reads.
func (r *Run) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for _, key := range Sorted(r.About) {
		fmt.Fprintf(&b, "%s: %s\n", key, r.About[key])
	}
	pkg := ""
	for _, name := range Sorted(r.Figures) {
		path, short, other := strings.Cut(name, ":")
		if !other {
			path, short = "benchmarks", name
		}
		if path != pkg {
			pkg = path
			fmt.Fprintf(&b, "%s: %s%s\n", pkgKey, module, pkg)
		}
		f := r.Figures[name]
		fmt.Fprintf(&b, "Benchmark%s %d %s %s %.0f B/op %.0f allocs/op", short, f.Calls, strconv.FormatFloat(f.Cost, 'f', -1, 64), r.Unit, f.Bytes, f.Allocs)
		for _, unit := range Sorted(f.Others) {
			fmt.Fprintf(&b, " %s %s", strconv.FormatFloat(f.Others[unit], 'f', -1, 64), unit)
		}
		b.WriteByte('\n')
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// Sorted returns the keys of a map in their order: first those of package benchmarks.
func Sorted[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if c := cmp.Compare(strings.Count(a, ":"), strings.Count(b, ":")); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
}
