package output

import (
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// namedParts are the columns and fields that a template can show of an event.
type namedParts struct {
	names []string
	all   bool // it uses the event as a whole, such as a range over it does
}

// partsNamed returns what a template names: {{.name}}, {{index . "name"}}, and {{.group.name}}, which it changes to name the field
// of a group as [reader.Event.Lookup] does.
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

// templatePart is a text, and what is shown behind it.
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
