package doctest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestBlocksOfMarkdown(t *testing.T) {
	for text, want := range map[string][]block{
		"":                                       nil,
		"text\n\n    indented()\n":               nil,
		"```go\na()\nb()\n```\n":                 {{"x.md", 2, "a()\nb()\n"}},
		"```sh\ngo vet\n```\n~~~~ Go\na()\n~~~~": {{"x.md", 5, "a()\n"}},
		"````go\n/*\n```\n*/\n````\n":            {{"x.md", 2, "/*\n```\n*/\n"}},
		"~~~go\n_ = `\n```go\n`\n~~~\n":          {{"x.md", 2, "_ = `\n```go\n`\n"}},
		"* list\n\n  ```go title=\"a b\"\n  if a {\n  \tb()\n  }\n  ```\n> ```golang\n> c()\n> ```\n": {
			{"x.md", 4, "if a {\n\tb()\n}\n"}, {"x.md", 9, "c()\n"},
		},
		"inline ```go``` code\n": nil,
	} {
		got, err := blocks("x.md", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	_, err := blocks("x.md", "text\n```\na()\n```\n")
	assert.ErrorContains(t, err, "x.md:2: a fenced block without a language")
	_, err = blocks("x.md", "text\n```go\na()\n``\n")
	assert.ErrorContains(t, err, "x.md:2: a fenced block without an end")
}
