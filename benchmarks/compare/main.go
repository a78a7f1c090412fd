// Command compare reads what benchmarks print and holds it against an earlier run.
//
//	go run ./compare -write results/6.12.txt < output     keep a run
//	go run ./compare results/6.12.txt < output            fail if anything costs more than 2 % more
//
// Of a benchmark that ran several times the smallest figure counts: what an interrupt or a
// cache that forgets at random adds is not the program's.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// tolerance is the share by which a figure may grow, and slack what is always forgiven, in
// instructions: below, a byte that moves in a cache line counts more than the program.
const (
	tolerance = 0.02
	slack     = 5
)

func main() {
	write := flag.String("write", "", "write the figures to this file instead of comparing")
	note := flag.String("note", "", "what to write about them")
	flag.Parse()
	if err := run(*write, *note, flag.Arg(0), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(write, note, against string, in io.Reader, out io.Writer) error {
	now, err := parse(in)
	if err != nil {
		return err
	}
	if len(now) == 0 {
		return fmt.Errorf("no figure in the input")
	}
	if write != "" {
		about := fmt.Sprintf("# %s/%s, %s; %s\n", runtime.GOOS, runtime.GOARCH, runtime.Version(), note)
		return os.WriteFile(write, []byte(about+format(now)), 0o644) //nolint:gosec // It is committed.
	}
	f, err := os.Open(against)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := parse(f)
	if err != nil {
		return err
	}
	worse := compare(out, before, now)
	if worse > 0 {
		return fmt.Errorf("%d of %d figures grew by more than %g %%", worse, len(before), tolerance*100)
	}
	return nil
}

// line is a line of go test -bench, and of the files that this program writes.
var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+(?:\d+\s+)?([\d.]+) ns/op`)

// parse returns the smallest figure of each benchmark.
func parse(r io.Reader) (map[string]float64, error) {
	figures := map[string]float64{}
	s := bufio.NewScanner(r)
	for s.Scan() {
		m := line.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Text(), err)
		}
		if old, ok := figures[m[1]]; !ok || v < old {
			figures[m[1]] = v
		}
	}
	return figures, s.Err()
}

func format(figures map[string]float64) string {
	var b strings.Builder
	for _, name := range sorted(figures) {
		fmt.Fprintf(&b, "Benchmark%s %.0f ns/op\n", name, figures[name])
	}
	return b.String()
}

// compare prints a row for each benchmark and returns how many cost more than before. One
// that is missing counts.
func compare(w io.Writer, before, now map[string]float64) (worse int) {
	for _, name := range sorted(before) {
		old := before[name]
		v, ok := now[name]
		verdict := ""
		switch {
		case !ok:
			verdict = "  MISSING"
			worse++
		case v > old*(1+tolerance) && v > old+slack:
			verdict = "  MORE"
			worse++
		}
		fmt.Fprintf(w, "%-40s %10.0f %10.0f%s\n", name, old, v, verdict)
	}
	return worse
}

func sorted(figures map[string]float64) []string {
	names := make([]string, 0, len(figures))
	for name := range figures {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
