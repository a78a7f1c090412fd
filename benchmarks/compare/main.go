// Command compare keeps what benchmarks print, or holds it against what was kept.
//
//	go run ./compare -keep FILE [-unit UNIT] [-about KEY=VALUE]... < output
//	go run ./compare FILE < output            fail if anything costs more than 2 % more than in FILE
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// tolerance is the share by which a figure may grow, and slack what is always forgiven, in
// instructions: below, a byte that moves in a cache line counts more than the program.
const (
	tolerance = 0.02
	slack     = 5
)

func main() {
	keep := flag.String("keep", "", "write the figures to this `file` instead of comparing them")
	unit := flag.String("unit", "", "what the benchmarks call ns/op, in `units`")
	about := map[string]string{}
	flag.Func("about", "what to write about the figures, as `key=value`", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("no =")
		}
		about[key] = value
		return nil
	})
	flag.Parse()
	now, err := figures.Parse(os.Stdin)
	switch {
	case err != nil:
	case len(now.Figures) == 0:
		err = errors.New("no figure in the input")
	case *keep != "":
		if *unit != "" {
			now.Unit = *unit
		}
		maps.Copy(now.About, about)
		err = write(*keep, now)
	default:
		err = check(os.Stdout, now, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func write(file string, run *figures.Run) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = run.WriteTo(f)
	return errors.Join(err, f.Close())
}

func check(w io.Writer, now *figures.Run, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	before, err := figures.Parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if worse := compare(w, before, now); worse > 0 {
		return fmt.Errorf("%d of %d figures grew by more than %g %%", worse, len(before.Figures), tolerance*100)
	}
	return nil
}

// compare prints a row for each benchmark and returns how many cost more than before. One
// that is missing counts.
func compare(w io.Writer, before, now *figures.Run) (worse int) {
	same := 0
	for _, name := range figures.Sorted(before.Figures) {
		old := before.Figures[name].Cost
		f, ok := now.Figures[name]
		verdict := ""
		switch {
		case !ok:
			verdict = "  MISSING"
			worse++
		case f.Cost == old:
			same++
		case f.Cost > old*(1+tolerance) && f.Cost > old+slack:
			verdict = "  MORE"
			worse++
		}
		_, _ = fmt.Fprintf(w, "%-60s %12.10g %12.10g%s\n", name, old, f.Cost, verdict)
	}
	_, _ = fmt.Fprintf(w, "%d of %d are the same to the digit\n", same, len(before.Figures))
	return worse
}
