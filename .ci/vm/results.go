package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// marker precedes the lines that package testing itself prints under
// -test.v=test2json. It tells them from whatever a test prints that looks alike.
const marker = 0x16

// allowedSkip begins the reason of a skip that is right in a guest: this kernel
// lacks the feature, and another one of the matrix has it.
const allowedSkip = "not on this kernel: "

var (
	logLine       = regexp.MustCompile(`^ +[^ ]+\.go:\d+: (.*)$`)
	benchmarkLine = regexp.MustCompile(`^Benchmark\S+\s+\d+\s`)
)

// results passes the output of test binaries on, line by line, and counts what
// they report.
type results struct {
	out     io.Writer
	partial []byte

	current string            // the test that prints now
	reasons map[string]string // by running test: the log line that a skip would be about

	passed, failed, skipped, benchmarks int
	badSkips                            []string
}

func newResults(out io.Writer) *results {
	return &results{out: out, reasons: make(map[string]string)}
}

// Write takes output in pieces of any size.
func (r *results) Write(p []byte) (int, error) {
	r.partial = append(r.partial, p...)
	for {
		line, rest, ok := cutLine(r.partial)
		if !ok {
			return len(p), nil
		}
		r.partial = rest
		if err := r.line(string(line)); err != nil {
			return 0, err
		}
	}
}

// flush ends the output of one binary, whose last line may lack its newline.
func (r *results) flush() error {
	line := string(r.partial)
	r.partial, r.current = nil, ""
	clear(r.reasons)
	if line == "" {
		return nil
	}
	return r.line(line)
}

// cutLine cuts the first line off data. A marker begins a line even where a test
// printed no newline before it.
func cutLine(data []byte) (line, rest []byte, ok bool) {
	for i, c := range data {
		switch {
		case c == '\n':
			return data[:i], data[i+1:], true
		case c == marker && i > 0:
			return data[:i], data[i:], true
		}
	}
	return nil, data, false
}

func (r *results) line(line string) error {
	line = strings.TrimSuffix(line, "\r")
	text, framed := strings.CutPrefix(line, string(rune(marker)))
	if framed {
		words := strings.Fields(text)
		if len(words) < 3 {
			return nil // "=== NAME", which says that no test prints now
		}
		r.framed(words[0], words[1], words[2])
	} else {
		r.plain(text)
	}
	if _, err := fmt.Fprintln(r.out, text); err != nil {
		return fmt.Errorf("print test output: %w", err)
	}
	return nil
}

// framed reads a line of package testing: "=== RUN TestX" or "--- PASS: TestX (0.00s)".
func (r *results) framed(dashes, verb, name string) {
	if dashes == "===" {
		r.current = name
		return
	}
	switch verb {
	case "PASS:":
		r.passed++
	case "FAIL:":
		r.failed++
	case "SKIP:":
		r.skipped++
		if reason := r.reasons[name]; !strings.HasPrefix(reason, allowedSkip) {
			r.badSkips = append(r.badSkips, fmt.Sprintf("%s (%s)", name, reason))
		}
	}
	delete(r.reasons, name)
}

func (r *results) plain(text string) {
	if benchmarkLine.MatchString(text) {
		r.benchmarks++
	}
	log := logLine.FindStringSubmatch(text)
	// A cleanup may log after the skip.
	if log != nil && !strings.HasPrefix(r.reasons[r.current], allowedSkip) {
		r.reasons[r.current] = log[1]
	}
}
