package doctest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
)

// term is a word that documents, public comments, messages and names of tests do without, since the field has a noun of its own for it.
type term struct {
	pattern string
	write   string // instead
	files   string // that may have it, since it means another thing there
}

var terms = []term{
	{pattern: `nobody|somebody|anybody|everybody|whoever|no one|someone|anyone|everyone`, write: "the tool, the kernel, the caller, the operator"},
	{pattern: `tracers?`, write: "tracing tool", files: `^(exporter|sloghandler/oteltrace|examples/service|benchmarks|docs/(benchmarks|operating)\.md|README\.md|CHANGELOG\.md)`}, // OpenTelemetry's, or the group of tracefs
	{pattern: `(is|are|be|being|was|were|gets?) traced|untraced|traces it`, write: "enabled, disabled"},
	{pattern: `gives? back|giving back|given back|gave back|gives? up|given up|gave up|lets? go`, write: "release, unregister, close"},
	{pattern: `thrown away|throws? away|vanish(es|ed)?|left out|leaves? out|leaving out|goes missing`, write: "lost (by the kernel), dropped (by us), truncated, omitted"},
	{pattern: `what (it|this|that|a \w+|an \w+|the \w+) costs?`, write: "cost, overhead"},
	{pattern: `what (it|this|that|a \w+|an \w+|the \w+) (needs|lacks|promises)`, write: "requirements, guarantees; not supported, permission denied"},
	{pattern: `stand-ins?|stands? in for|outlets?|models? of the kernel`, write: "simulated kernel, tracepoint"},
	{pattern: `meets? the bar|the bar is|bars? of performance`, write: "performance target"},
	{pattern: `sent on|sends on|passed on|passes on`, write: "propagate, forward"},
	{pattern: `message of values`, write: "log record"},
}

// clause matches a sentence whose subject is a clause: "What does not fit is cut" in place of "Texts that do not fit are cut". A
// question is none.
var clause = regexp.MustCompile(`(^|[.:] )(What|Whatever|Who|Whoever) [^.?]*\.`)

var banned = func() (list []*regexp.Regexp) {
	for _, t := range terms {
		list = append(list, regexp.MustCompile(`(?i)\b(`+t.pattern+`)\b`))
	}
	return list
}()

// wordsOf returns the faults in the words of a text.
func wordsOf(file, text string) (list []string) {
	for i, t := range terms {
		if t.files != "" && regexp.MustCompile(t.files).MatchString(file) {
			continue
		}
		for _, found := range banned[i].FindAllString(text, -1) {
			list = append(list, fmt.Sprintf("%q: write %s", found, t.write))
		}
	}
	for _, found := range clause.FindAllString(text, -1) {
		list = append(list, fmt.Sprintf("%q: begin with the subject", strings.TrimLeft(found, ".: ")))
	}
	return list
}

// passage is a text with the line that it begins in.
type passage struct {
	line int
	text string
}

// code matches what is no prose in Markdown: inline code, comments, and the targets of links.
var code = regexp.MustCompile("`[^`]*`|<!--.*?-->|\\]\\([^)]*\\)")

// prose returns the paragraphs of a Markdown file, without code.
func prose(text string) (list []passage) {
	fenced, open := false, false
	for n, line := range strings.Split(text, "\n") {
		if fence.MatchString(line) {
			fenced, open = !fenced, false
			continue
		}
		// Lines of tables and items of lists are paragraphs of their own.
		trimmed := strings.TrimSpace(line)
		if fenced || trimmed == "" || strings.HasPrefix(line, "    ") {
			open = false
			continue
		}
		if !open || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "* ") || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "#") {
			list = append(list, passage{n + 1, ""})
		}
		last := &list[len(list)-1]
		last.text = strings.TrimSpace(last.text + " " + strings.TrimLeft(trimmed, "|*-# "))
		open = !strings.HasPrefix(trimmed, "#")
	}
	for i := range list {
		list[i].text = code.ReplaceAllString(list[i].text, "")
	}
	return list
}

// public returns the texts of a Go file that users read: package comments, comments of exported names, and messages of
// errors. Of a test file it returns the names of its tests, in words.
func public(name string, source []byte) (list []passage, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(node ast.Node, text string) {
		list = append(list, passage{set.Position(node.Pos()).Line, strings.Join(strings.Fields(text), " ")})
	}
	doc := func(g *ast.CommentGroup) {
		if g != nil {
			for paragraph := range strings.SplitSeq(g.Text(), "\n\n") {
				if !strings.HasPrefix(paragraph, "\t") {
					add(g, paragraph)
				}
			}
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				add(fn, inWords.ReplaceAllString(fn.Name.Name, " $0"))
			}
		}
		return list, nil
	}
	doc(f.Doc)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				doc(d.Doc)
			}
		case *ast.GenDecl:
			if slices.ContainsFunc(d.Specs, exported) {
				doc(d.Doc)
			}
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					doc(spec.Doc)
					ast.Inspect(spec.Type, func(n ast.Node) bool {
						if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && field.Names[0].IsExported() {
							doc(field.Doc)
							doc(field.Comment)
						}
						return true
					})
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if of, ok := call.Fun.(*ast.SelectorExpr); ok && (of.Sel.Name == "New" || of.Sel.Name == "Errorf") && len(call.Args) > 0 {
			if literal, ok := call.Args[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if message, err := strconv.Unquote(literal.Value); err == nil {
					add(literal, message)
				}
			}
		}
		return true
	})
	return list, nil
}

// exported reports whether a declaration has an exported name.
func exported(spec ast.Spec) bool {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Name.IsExported()
	case *ast.ValueSpec:
		return slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported)
	}
	return false
}

// inWords matches the capital letters that words in the name of a test begin with.
var inWords = regexp.MustCompile(`[A-Z][a-z]`)

// TestWords: documents, public comments, messages of errors and names of tests use the nouns of the field, and sentences
// that begin with their subject.
func TestWords(t *testing.T) {
	testscale.HostOnly(t)
	read := map[string]int{}
	eachFile(t, []string{".md", ".go"}, func(rel, kind string, source []byte) (err error) {
		passages := prose(string(source))
		if kind == ".go" {
			if passages, err = public(rel, source); err != nil {
				return err
			}
		}
		read[kind] += len(passages)
		for _, p := range passages {
			for _, fault := range wordsOf(rel, p.text) {
				t.Errorf("%s:%d: %s", rel, p.line, fault)
			}
		}
		return nil
	})
	for _, kind := range []string{".md", ".go"} {
		assert.Greater(t, read[kind], 100, kind)
	}
}
