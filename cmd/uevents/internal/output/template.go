package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/userevents/userevents-go/record"
)

// templateWriter executes a template for each event, and appends a newline. The template gets the columns and the
// fields of the event by name, as texts that are safe to print. Missing ones are empty.
type templateWriter struct {
	w       io.Writer
	t       *template.Template
	named   namedParts
	columns []string       // of which a template that names all of an event has those that are not empty
	parts   []templatePart // in place of t, if it is so simple
	line    limitedBuffer
	data    map[string]string
	c       clock
	b       []byte
}

// maxLine is the most bytes that a template may make of an event: a range over a large number would take all memory.
const maxLine = 16 << 20

// limitedBuffer refuses more than maxLine bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxLine {
		return 0, fmt.Errorf("it makes more than %d MiB of one event", maxLine>>20)
	}
	return b.Buffer.Write(p)
}

func newTemplate(text string, w io.Writer, o Options) (*templateWriter, error) {
	if len(o.Fields) > 0 {
		return nil, fmt.Errorf("%w: a template selects the fields itself", errFormat)
	}
	t, err := compileTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	named := partsNamed(t)
	return &templateWriter{
		w: w, t: t, named: named, columns: ColumnNames(), parts: simpleParts(t, len(named.names)), data: map[string]string{}, c: newClock(o),
	}, nil
}

func isTemplate(format string) bool { return strings.Contains(format, "{{") }

func compileTemplate(text string) (*template.Template, error) {
	return template.New("output").Option("missingkey=zero").Parse(text)
}

func (t *templateWriter) Write(ev *record.Record) error {
	if t.parts != nil {
		return t.writeParts(ev)
	}
	clear(t.data)
	for _, name := range t.named.names {
		t.set(name, ev)
	}
	if t.named.all {
		fields := ev.Fields()
		for i := range fields {
			t.set(fields[i].Name, ev)
		}
		for _, name := range t.columns {
			t.set(name, ev)
		}
	}
	t.line.Reset()
	if err := t.t.Execute(&t.line, t.data); err != nil {
		return fmt.Errorf("%w: %w", errFormat, err)
	}
	t.line.WriteByte('\n')
	_, err := t.w.Write(t.line.Bytes())
	return err
}

// writeParts writes a simple template, without the reflection that takes most of an execution.
func (t *templateWriter) writeParts(ev *record.Record) error {
	t.b = t.b[:0]
	for i := range t.parts {
		p := &t.parts[i]
		if t.b = append(t.b, p.text...); p.name != "" {
			t.b = p.append(t.b, ev, &t.c, false)
		}
	}
	t.b = append(t.b, '\n')
	_, err := t.w.Write(t.b)
	return err
}

func (t *templateWriter) set(name string, ev *record.Record) {
	s := selectedOf(name)
	if t.b = s.append(t.b[:0], ev, &t.c, false); len(t.b) > 0 {
		t.data[name] = string(t.b)
	}
}

func (t *templateWriter) Lost(string, uint64, time.Time) error { return nil }

func (t *templateWriter) Close() error { return nil }

// namedParts are the columns and fields that a template can show of an event.
type namedParts struct {
	names []string
	all   bool // it uses the event as a whole, such as a range over it does
}

// partsNamed returns what a template names: {{.name}}, {{index . "name"}}, and {{.group.name}}, which it changes to name the field
// of a group as [record.Record.Lookup] does.
func partsNamed(t *template.Template) (p namedParts) {
	for _, associated := range t.Templates() {
		p.see(associated.Root, associated == t)
	}
	slices.Sort(p.names)
	p.names = slices.Compact(p.names)
	return p
}

// see looks at a node of a template. event tells whether the dot is the event there: within with and range it is one of its texts,
// and another template gets it by a node that names it.
func (p *namedParts) see(n parse.Node, event bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, n := range n.Nodes {
				p.see(n, event)
			}
		}
	case *parse.ActionNode:
		p.see(n.Pipe, event)
	case *parse.TemplateNode:
		p.see(n.Pipe, event)
	case *parse.IfNode:
		p.branch(&n.BranchNode, event, event)
	case *parse.WithNode:
		p.branch(&n.BranchNode, event, false)
	case *parse.RangeNode:
		p.branch(&n.BranchNode, event, false)
	case *parse.PipeNode:
		if n != nil {
			for _, command := range n.Cmds {
				p.seeCommand(command, event)
			}
		}
	case *parse.ChainNode:
		p.see(n.Node, event)
	case *parse.FieldNode:
		n.Ident = []string{p.name(n.Ident)}
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			n.Ident = []string{n.Ident[0], p.name(n.Ident[1:])}
		} else if n.Ident[0] == "$" {
			p.all = true
		}
	case *parse.DotNode:
		p.all = p.all || event
	}
}

func (p *namedParts) branch(n *parse.BranchNode, event, inside bool) {
	p.see(n.Pipe, event)
	p.see(n.List, inside)
	p.see(n.ElseList, event)
}

func (p *namedParts) seeCommand(n *parse.CommandNode, event bool) {
	if name, ok := indexed(n); ok {
		p.names = append(p.names, name)
		return
	}
	for _, argument := range n.Args {
		p.see(argument, event)
	}
}

// indexed returns the name in index . "name".
func indexed(n *parse.CommandNode) (name string, ok bool) {
	if len(n.Args) != 3 || n.Args[0].String() != "index" || n.Args[1].String() != "." && n.Args[1].String() != "$" {
		return "", false
	}
	text, ok := n.Args[2].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return text.Text, true
}

func (p *namedParts) name(path []string) string {
	name := strings.Join(path, ".")
	p.names = append(p.names, name)
	return name
}

type templatePart struct {
	text string
	selected
}

// simpleParts returns the parts of a template that has nothing but texts and so many names, each once. Otherwise it returns nil.
func simpleParts(t *template.Template, names int) []templatePart {
	parts := []templatePart{{}}
	for _, n := range t.Root.Nodes {
		last := &parts[len(parts)-1]
		switch n := n.(type) {
		case *parse.TextNode:
			last.text += string(n.Text)
		case *parse.ActionNode:
			name, ok := shown(n.Pipe)
			if !ok {
				return nil
			}
			last.selected = selectedOf(name)
			parts = append(parts, templatePart{})
		default:
			return nil
		}
	}
	if len(parts)-1 != names {
		return nil
	}
	return parts
}

// shown returns the name in {{.name}} or {{index . "name"}}, as partsNamed has left it.
func shown(n *parse.PipeNode) (name string, ok bool) {
	if len(n.Decl) > 0 || len(n.Cmds) != 1 {
		return "", false
	}
	command := n.Cmds[0]
	if len(command.Args) != 1 {
		return indexed(command)
	}
	switch n := command.Args[0].(type) {
	case *parse.FieldNode:
		return n.Ident[0], true
	case *parse.VariableNode:
		return n.Ident[len(n.Ident)-1], len(n.Ident) == 2 && n.Ident[0] == "$"
	default:
		return "", false
	}
}
