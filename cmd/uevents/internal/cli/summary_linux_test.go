package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// summaryLine is the last line of a command that reads records.
type summaryLine struct {
	line    string
	matched int
	parts   map[string]int // what became of the records, such as shown or lost
	seconds float64        // how long the command ran, 0 if it does not say
}

// summaryOf parses what a command said on standard error.
func summaryOf(said string) (s summaryLine, err error) {
	for line := range strings.Lines(said) {
		counts, rest, ends := strings.Cut(line, "; ")
		matched, parts, found := strings.Cut(counts, " matched = ")
		if !ends || !found {
			continue
		}
		s = summaryLine{line: line, parts: map[string]int{}}
		if s.matched, err = countOf(matched); err != nil {
			return s, err
		}
		for part := range strings.SplitSeq(parts, " + ") {
			n, what, _ := strings.Cut(part, " ")
			if s.parts[what], err = countOf(n); err != nil {
				return s, err
			}
		}
		seconds, _, _ := strings.Cut(rest, " ")
		s.seconds, _ = strconv.ParseFloat(seconds, 64) // flight does not say it
		return s, nil
	}
	return s, fmt.Errorf("there is no summary in %q", said)
}

// countOf parses a number with commas.
func countOf(s string) (int, error) { return strconv.Atoi(strings.ReplaceAll(s, ",", "")) }
