package reader

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
)

// A pattern selects tracepoints by name: see Selection.Events.
type pattern struct {
	system string // empty: those of user events
	name   string
	glob   bool
	prefix bool // NAME also means NAME_*
}

// parsePattern parses a pattern of [Selection].Events.
func parsePattern(s string) (pattern, error) {
	var p pattern
	system, name, qualified := strings.Cut(s, ":")
	if !qualified {
		system, name = "", s
	}
	p.system, p.name = system, name
	switch {
	case name == "" || qualified && system == "":
		return p, fmt.Errorf("pattern %q has no name: %w", s, fs.ErrInvalid)
	case strings.ContainsAny(system, `*?[\`):
		return p, fmt.Errorf("pattern %q: the system must be spelled out, such as sched:*: %w", s, fs.ErrInvalid)
	case strings.ContainsAny(s, "/\x00\n") || system == ".." || system == "." || name == ".." || name == ".":
		return p, fmt.Errorf("pattern %q: no event has such a name: %w", s, fs.ErrInvalid)
	}
	p.glob = strings.ContainsAny(p.name, `*?[\`)
	p.prefix = !p.glob && p.system == ""
	if _, err := path.Match(p.name, ""); err != nil {
		return p, fmt.Errorf("pattern %q: %w: %w", s, err, fs.ErrInvalid)
	}
	return p, nil
}

func parsePatterns(list []string) ([]pattern, error) {
	var patterns []pattern
	for _, s := range list {
		p, err := parsePattern(s)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// userEvents reports whether the pattern selects user events, which appear and disappear.
func (p pattern) userEvents() bool { return p.system == "" || isUserEvents(p.system) }

func isUserEvents(system string) bool {
	return system == tracepoint.System || system == tracepoint.MultiSystem
}

func (p pattern) match(system, name string) bool {
	if p.system != system && (p.system != "" || !isUserEvents(system)) {
		return false
	}
	if p.matchName(name) {
		return true
	}
	// A program with several formats for a name does not know the number that the kernel adds.
	registered, ok := registeredName(system, name)
	return ok && p.matchName(registered)
}

func (p pattern) matchName(name string) bool {
	if p.glob {
		ok, _ := path.Match(p.name, name) // parsePattern checked the pattern
		return ok
	}
	rest, ok := strings.CutPrefix(name, p.name)
	return ok && (rest == "" || p.prefix && rest[0] == '_')
}

// registeredName returns the name that a program registered for a tracepoint of several formats: without the number
// that the kernel added.
func registeredName(system, name string) (string, bool) {
	i := strings.LastIndexByte(name, '.')
	if system != tracepoint.MultiSystem || i < 0 {
		return "", false
	}
	return name[:i], true
}

// probePrefix begins the names of the events by which the command uevents doctor checks a machine. It removes them, which
// the kernel refuses while a tool is attached.
const probePrefix = "uevents_doctor"

// hasErrors reports whether the name of a tracepoint says that its records are errors.
func hasErrors(system, name string) bool {
	if registered, ok := registeredName(system, name); ok {
		name = registered
	}
	if n, err := eventheader.ParseName(name); err == nil {
		return n.Level > 0 && n.Level <= eventheader.LevelError
	}
	return isUserEvents(system) && strings.HasSuffix(name, "_error")
}
