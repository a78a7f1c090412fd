package cli

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
)

// grep selects records by their line of text, with whole ids. nil selects all.
type grep struct {
	re     *regexp.Regexp
	line   bytes.Buffer
	writer output.Writer
}

// newGrep returns nil without an expression. Errors are usage errors.
func (f *outputFlags) newGrep(e *env) (*grep, error) {
	if f.grep == "" {
		return nil, nil
	}
	re, err := regexp.Compile(f.grep)
	if err != nil {
		return nil, usageError{fmt.Errorf("--grep: %w", err)}
	}
	o, err := f.textOptions(e)
	if err != nil {
		return nil, err
	}
	o.Whole = true
	g := &grep{re: re}
	g.writer, err = output.New("text", &g.line, o)
	return g, err
}

func (g *grep) matches(ev *reader.Event) bool {
	if g == nil {
		return true
	}
	g.line.Reset()
	_ = g.writer.Write(ev)                                            // writing to memory does not fail
	return g.re.Match(bytes.TrimSuffix(g.line.Bytes(), []byte{'\n'})) // so that $ is its end
}
