package cli

import (
	"bytes"
	"regexp"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
)

// grep selects records by their line of text. nil selects all.
type grep struct {
	re     *regexp.Regexp
	line   bytes.Buffer
	writer output.Writer
}

// newGrep returns nil for an empty expression. Errors are usage errors.
func newGrep(expr string) (*grep, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, usageError{err}
	}
	g := &grep{re: re}
	g.writer, err = output.New("text", &g.line, output.Options{})
	return g, err
}

func (g *grep) matches(ev *reader.Event) bool {
	if g == nil {
		return true
	}
	g.line.Reset()
	_ = g.writer.Write(ev) // writing to memory does not fail
	return g.re.Match(g.line.Bytes())
}
