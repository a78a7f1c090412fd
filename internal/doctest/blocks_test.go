package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// block is a fenced block of Go code in a Markdown file.
type block struct {
	file string
	line int // of its first line of code
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// fence matches a line that begins or ends a fenced block, which may stand in a list or a quotation.
var fence = regexp.MustCompile("^([ \t>]*)(`{3,}|~{3,})[ \t]*([^\\s`{]*)[^`]*$")

// blocks returns the Go blocks of a Markdown file. A fenced block has to name its language: Go code in a block without
// one would not be compiled.
func blocks(file, text string) (list []block, err error) {
	var open []string // the groups of the fence that began the block
	begin, code := 0, ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		f := fence.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case open == nil && f == nil:
		case open == nil && f[3] == "":
			return nil, fmt.Errorf("%s:%d: a fenced block without a language", file, number)
		case open == nil:
			open, begin, code = f, number+1, ""
		case f != nil && f[3] == "" && strings.HasPrefix(f[2], open[2]):
			if lang := strings.ToLower(open[3]); lang == "go" || lang == "golang" {
				list = append(list, block{file, begin, code})
			}
			open = nil
		default:
			code += strings.TrimPrefix(line, open[1])
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: a fenced block without an end", file, begin-1)
	}
	return list, nil
}
