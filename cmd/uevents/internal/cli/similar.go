package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/encode/text"
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
