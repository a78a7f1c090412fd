package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSample: each mutant of the package in testdata has the outcome that a reader of its tests expects.
func TestSample(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	root := filepath.Join(here, "..", "..")
	pkg, err := load(root, "./.ci/mutate/testdata/sample")
	require.NoError(t, err)
	require.NoError(t, pkg.test(options{}))

	got := map[string]string{}
	for _, m := range pkg.mutants {
		got[m.function+" "+m.operator+" "+m.text] = m.outcome.String()
	}
	assert.Equal(t, map[string]string{
		" ARITHMETIC_BASE 4 * 2":                                      "KILLED",
		" ARITHMETIC_BASE size - 1":                                   "KILLED",
		" ARITHMETIC_BASE len(`a`+ `b`) + 3*size":                     "KILLED", // over several lines
		" ARITHMETIC_BASE 3*size":                                     "KILLED",
		"grade INVERT_LOGICAL n > 90 && n != 95":                      "KILLED",
		"grade CONDITIONALS_NEGATION n > 90":                          "KILLED",
		"grade CONDITIONALS_BOUNDARY n > 90":                          "KILLED",
		"grade CONDITIONALS_NEGATION n != 95":                         "KILLED",
		"grade CONDITIONALS_NEGATION n < 10":                          "KILLED",
		"grade CONDITIONALS_BOUNDARY n < 10":                          "KILLED",
		"sum INVERT_NEGATIVES -1":                                     "KILLED",
		"sum CONDITIONALS_NEGATION i < len(list)":                     "KILLED",
		"sum CONDITIONALS_BOUNDARY i < len(list)":                     "KILLED",
		"sum INCREMENT_DECREMENT i++":                                 "KILLED",
		"sum INVERT_ASSIGNMENTS s += list[i]":                         "KILLED",
		"nested CONDITIONALS_NEGATION -a*b < 0":                       "KILLED",
		"nested CONDITIONALS_BOUNDARY -a*b < 0":                       "KILLED",
		"nested ARITHMETIC_BASE -a*b":                                 "KILLED",
		"nested INVERT_NEGATIVES -a":                                  "KILLED",
		"unused INCREMENT_DECREMENT counts[\"a\"]++":                  "LIVED",
		"unused INVERT_LOGICAL len(counts) == 0 || counts[\"b\"] > 1": "NOT COVERED",
		"unused CONDITIONALS_NEGATION len(counts) == 0":               "NOT COVERED",
		"unused CONDITIONALS_NEGATION counts[\"b\"] > 1":              "NOT COVERED",
		"unused CONDITIONALS_BOUNDARY counts[\"b\"] > 1":              "NOT COVERED",
		"unused INVERT_ASSIGNMENTS counts[\"b\"] -= 2":                "LIVED",
	}, got)
}

// TestFailingTests: tests that fail without a mutant would kill each.
func TestFailingTests(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	pkg, err := load(filepath.Join(here, "..", ".."), "./.ci/mutate/testdata/together")
	require.NoError(t, err)
	assert.ErrorContains(t, pkg.test(options{}), "the tests fail without a mutant")
	assert.Equal(t, notCovered, pkg.mutants[0].outcome)
}

// TestText: expressions inside each other nest, and lines stay where they are.
func TestText(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	pkg, err := load(filepath.Join(here, "..", ".."), "./.ci/mutate/testdata/sample")
	require.NoError(t, err)
	for _, m := range pkg.mutants { // numbers that do not depend on other functions
		m.id = 7
	}
	s := pkg.files[0]
	text := pkg.text(s, s.tree, s.tree.FileStart, s.tree.FileEnd)
	assert.Equal(t, strings.Count(string(s.content), "\n"), strings.Count(text, "\n"))
	_, text, _ = strings.Cut(text, "func nested(a, b int) bool {\n")
	assert.True(t, strings.HasPrefix(text, "\treturn ((mutantLess(7, mutantMul(7, (mutantNegate(7, (a))), (b)) ,  0)) != mutantIs(7))"), text)
}

// TestExplained: each reason is for a mutant that there is.
func TestExplained(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	reasons, err := readReasons("explained.txt")
	require.NoError(t, err)
	loaded := map[string]bool{}
	for key := range reasons {
		pkg := path.Dir(strings.Fields(key)[0])
		if loaded[pkg] {
			continue
		}
		loaded[pkg] = true
		of, err := load(root, "./"+pkg)
		require.NoError(t, err)
		for _, m := range of.mutants {
			delete(reasons, m.key())
		}
	}
	for key := range reasons {
		t.Errorf("there is no mutant %s", key)
	}
}

// TestReport: figures, survivors with their reasons, and the sections of the file of results.
func TestReport(t *testing.T) {
	s := &source{name: "p/a.go"}
	pkg := &target{name: "p", mutants: []*mutant{
		{file: s, line: 3, function: "f", operator: "X", text: "a < b", outcome: lived},
		{file: s, line: 4, function: "f", operator: "X", text: "a > b", outcome: endless},
		{file: s, line: 5, function: "f", operator: "X", text: "a + b", outcome: notViable},
		{file: s, line: 6, function: "f", operator: "X", text: "a - b", outcome: notCovered},
	}}
	reasons := filepath.Join(t.TempDir(), "reasons")
	require.NoError(t, os.WriteFile(reasons, []byte("# what\np/a.go f X `a < b`: they are `a`: equal\n"), 0o600))
	why, err := readReasons(reasons)
	require.NoError(t, err)
	text := pkg.report(why)
	assert.Equal(t, "package p: mutants 3, covered 2, killed 1, by the time limit 1, not viable 1\n"+
		"lived p/a.go:3 f X `a < b`: they are `a`: equal\nnot-covered p/a.go:6 f X `a - b`\n", text)

	results := filepath.Join(t.TempDir(), "results")
	require.NoError(t, keep(results, "q", "of q", "package q: mutants 1\n"))
	require.NoError(t, keep(results, "p", "of p", text))
	require.NoError(t, keep(results, "q", "of q again", "package q: mutants 2\n"))
	all, err := os.ReadFile(results)
	require.NoError(t, err)
	assert.Equal(t, "# of p\n"+text+"# of q again\npackage q: mutants 2\n", string(all))

	// What lived before is killed now, and what was not covered lives; the others stay as they were.
	again := &target{name: "p", mutants: append([]*mutant{}, pkg.mutants...)}
	require.NoError(t, again.choose(options{again: results, keep: results}))
	require.Len(t, again.mutants, 2)
	again.mutants[0].outcome, again.mutants[1].outcome = killed, lived
	assert.Equal(t, "package p: mutants 3, covered 3, killed 2, by the time limit 1, not viable 1\nlived p/a.go:6 f X `a - b`\n", again.report(nil))
	other := &target{name: "p", mutants: pkg.mutants[:1]}
	assert.ErrorContains(t, other.choose(options{again: results, keep: results}), "try all", "the package has changed")
	other.name = "r"
	assert.ErrorContains(t, other.choose(options{again: results, keep: results}), "no results of package r")

	pkg.mutants = pkg.mutants[:2]
	require.NoError(t, pkg.choose(options{again: results}))
	require.Len(t, pkg.mutants, 1, "the one that lived")
	assert.True(t, strings.HasSuffix(pkg.mutants[0].key(), "`a < b`"))
}
