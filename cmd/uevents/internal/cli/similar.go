package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// similarNames returns the names that begin with a word, or differ in at most two letters; in one of a short word.
func similarNames(word string, names []string) []string {
	distance := 2
	if len(word) < 4 {
		distance = 1
	}
	root := &cobra.Command{SuggestionsMinimumDistance: distance} // cobra finds similar names of commands
	for _, name := range names {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return root.SuggestionsFor(word)
}

// didYouMean returns a question on patterns that no event matches, with patterns of similar names that some match, or "".
func (e *env) didYouMean(patterns []string) string {
	if found := e.similarPatterns(patterns); len(found) > 0 {
		return "did you mean " + listed(found) + "? "
	}
	return ""
}

// sayUnmatched says which patterns no event matches, while others have the events of these names, SYSTEM:NAME. follow is that events
// which appear later are read, too.
func (e *env) sayUnmatched(patterns, events []string, follow bool) {
	yet := ""
	if follow {
		yet = " yet"
	}
	var without []string
	for _, pattern := range patterns {
		system, _, named := strings.Cut(pattern, ":")
		match, err := reader.Match(pattern)
		if err != nil || named && system != tracepoint.System || slices.Contains(without, pattern) {
			continue // of the kernel's other events it is an error
		}
		if !slices.ContainsFunc(events, func(event string) bool {
			system, name, _ := strings.Cut(event, ":")
			return match(system, name)
		}) {
			without = append(without, pattern)
		}
	}
	if len(without) == 0 {
		return
	}
	declarations := e.declarations(true)
	without = slices.DeleteFunc(without, func(pattern string) bool { // if its events are not attached, something else is the reason
		match, _ := reader.Match(pattern)
		return slices.ContainsFunc(declarations, func(d tracepoint.Declaration) bool { return match(tracepoint.System, d.Name) })
	})
	for i, pattern := range without {
		if i == maxFailures {
			e.say("! %s more patterns match no event%s", output.Count(uint64(len(without)-i)), yet)
			return
		}
		similar := ""
		if found := e.similarPatterns([]string{pattern}); len(found) > 0 {
			similar = " (did you mean " + listed(found) + "?)"
		}
		e.say("! no event matches %s%s%s", pattern, yet, similar)
	}
}

// namesOf returns the names of events, SYSTEM:NAME.
func namesOf(events []reader.EventStats) (names []string) {
	for i := range events {
		names = append(names, events[i].Name)
	}
	return names
}

// similarPatterns returns patterns that events match, similar to those that none does: names of events, and beginnings of names.
func (e *env) similarPatterns(patterns []string) (found []string) {
	var names []string
	for _, d := range e.declarations(true) {
		for i, r := range d.Name {
			if r == '_' && i > 0 {
				names = append(names, d.Name[:i])
			}
		}
		names = append(names, d.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	names = slices.Compact(names)
	for _, pattern := range patterns {
		if match, err := reader.Match(pattern); err != nil || slices.ContainsFunc(names, func(n string) bool { return match(tracepoint.System, n) }) {
			continue // it matches, and something else is the reason
		}
		word := strings.TrimRight(strings.TrimPrefix(pattern, tracepoint.System+":"), "_*")
		if word == "" || strings.ContainsAny(word, `*?[\:`) {
			continue
		}
		for _, name := range similarNames(word, names) {
			if !slices.ContainsFunc(found, func(shorter string) bool { return name == shorter || strings.HasPrefix(name, shorter+"_") }) {
				found = append(found, text.Printable(name))
			}
		}
	}
	return found
}
