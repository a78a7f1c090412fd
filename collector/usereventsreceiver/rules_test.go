package usereventsreceiver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// noon is the time at which the rules of tests are looked at.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

const goodRules = `
rules:
  - {events: [checkout], exclude: ["*_span_start"], level: debug, where: program == checkout, until: 2026-11-27T12:15:00Z}
  - {until: "2026-11-28T13:00:00+01:00"}
`

func TestParseRules(t *testing.T) {
	list, err := parseRules([]byte(goodRules), noon)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.True(t, list[0].end.Equal(noon.Add(15*time.Minute)))
	assert.True(t, list[1].end.Equal(noon.Add(24*time.Hour)))
	a, err := list[0].addition()
	require.NoError(t, err)
	assert.Equal(t, "(level >= debug or not has(level)) and (program == checkout\n)", a.Where.String())
	a.Where = nil
	assert.Equal(t, reader.Addition{Events: []string{"checkout"}, Excludes: []string{"*_span_start"}}, a)
	a, err = list[1].addition()
	require.NoError(t, err)
	assert.Equal(t, reader.Addition{Events: []string{"*"}}, a)

	for _, empty := range []string{"", "\n", "rules: []"} {
		list, err := parseRules([]byte(empty), noon)
		assert.NoError(t, err)
		assert.Empty(t, list)
	}
}

// TestParseRulesInvalid: each error says which rule and which key is wrong.
func TestParseRulesInvalid(t *testing.T) {
	const until = "until: 2026-11-27T12:15:00Z"
	many := "rules:\n"
	for range maxRules + 1 {
		many += "  - {" + until + "}\n"
	}
	for text, want := range map[string]string{
		"rules: [{events: [a]}]":                                   "rule 1: until is missing",
		"rules: [{" + until + "}, {until: soon}]":                  `rule 2: until: "soon" is no time: want RFC 3339, as 2026-01-02T15:04:05Z`,
		"rules: [{until: 15}]":                                     `rule 1: until: "15" is no time: want RFC 3339`,
		"rules: [{until: 2026-11-28T12:00:01Z}]":                   "rule 1: until: 2026-11-28T12:00:01Z is more than 24h0m0s from now",
		"rules: [{" + until + "}, {level: loud, " + until + "}]":   `rule 2: level: level "loud"`,
		"rules: [{where: status >, " + until + "}]":                "rule 1: where:",
		`rules: [{events: ["a/b"], ` + until + "}]":                "rule 1: events:",
		`rules: [{exclude: ["["], ` + until + "}]":                 "rule 1: exclude:",
		`rules: [{events: ["sched:sched_switch"], ` + until + "}]": "is not one of user events",
		"rules: [{event: [a], " + until + "}]":                     "event",
		"rule: []":                                                 "'usereventsreceiver.ruleFile' has invalid keys: rule",
		"rules: [":                                                 "",
		"everything":                                               "the file is not a mapping with the key rules",
		many:                                                       "101 rules",
	} {
		list, err := parseRules([]byte(text), noon)
		assert.ErrorContains(t, err, want, text)
		assert.Empty(t, list, text)
	}
}

// TestRulesFile: rules end at their time, a file that is wrong leaves them in force until then, and one that is missing ends them.
func TestRulesFile(t *testing.T) {
	r := rules{path: filepath.Join(t.TempDir(), "rules.yaml")}
	now := noon
	look := func(wantChanged bool, want int) error {
		t.Helper()
		changed, _, err := r.look(now)
		assert.Equal(t, wantChanged, changed)
		assert.Len(t, r.additions(), want)
		if r.last = ""; err != nil {
			r.last = err.Error()
		}
		return err
	}
	require.NoError(t, look(false, 0))
	assert.Equal(t, rulesInterval, r.next(now))
	write := func(text string) { require.NoError(t, os.WriteFile(r.path, []byte(text), 0o600)) }

	write(goodRules)
	require.NoError(t, look(true, 2))
	require.NoError(t, look(false, 2))
	write("rules: [{events: [a]}]")
	assert.Error(t, look(false, 2))
	assert.Error(t, look(false, 2))
	now = now.Add(15*time.Minute - time.Millisecond)
	assert.Error(t, look(false, 2))
	assert.Equal(t, time.Millisecond, r.next(now))
	now = now.Add(time.Millisecond)
	assert.Error(t, look(true, 1))
	write(goodRules)
	require.NoError(t, look(true, 1))
	require.NoError(t, os.Remove(r.path))
	require.NoError(t, look(true, 0))

	// The clock is set back.
	write(goodRules)
	require.NoError(t, look(true, 1))
	now = now.Add(-time.Hour)
	require.NoError(t, look(true, 0))
	now = now.Add(time.Hour)
	require.NoError(t, os.Remove(r.path))
	require.NoError(t, look(false, 0))

	// A file cannot become too large, and can be unreadable.
	write("rules: []\n#" + strings.Repeat(" ", maxRulesSize))
	assert.ErrorContains(t, look(false, 0), "more than")
	require.NoError(t, os.Remove(r.path))
	require.NoError(t, os.Mkdir(r.path, 0o700))
	assert.Error(t, look(false, 0))
}

// FuzzRules: rules that are accepted can be applied.
func FuzzRules(f *testing.F) {
	f.Add(goodRules)
	f.Add("rules: [{events: [a], level: warn2, where: a == 1, until: 2026-11-27T12:00:00Z}]")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseRules([]byte(text), noon)
		if err != nil {
			require.Empty(t, list)
		}
		for i := range list {
			_, err := list[i].addition()
			require.NoError(t, err)
			require.False(t, list[i].end.After(noon.Add(maxRuleTime)))
		}
	})
}

// TestRulesSameError: a wrong file is refused with the same text at each look, so that it is logged and counted once.
func TestRulesSameError(t *testing.T) {
	r := rule{Events: []string{"["}, Exclude: []string{"sched:b"}}
	_, want := r.addition()
	require.ErrorContains(t, want, "events: ")
	for range 100 {
		_, err := r.addition()
		require.EqualError(t, err, want.Error())
	}
}
