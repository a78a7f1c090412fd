package usereventsreceiver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
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
	a, err := list[0].selection()
	require.NoError(t, err)
	assert.Equal(t, "(not kind in (log, other) or level >= debug or not has(level)) and (program == checkout)", a.Where.String())
	a.Where = nil
	assert.Equal(t, reader.Selection{Events: []string{"checkout"}, Excludes: []string{"*_span_start"}}, a)
	a, err = list[1].selection()
	require.NoError(t, err)
	assert.Equal(t, reader.Selection{Events: []string{"*"}}, a)

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
		assert.Len(t, r.inForce(), want)
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
			_, err := list[i].selection()
			require.NoError(t, err)
			require.False(t, list[i].end.After(noon.Add(maxRuleTime)))
		}
	})
}

// TestRulesSameError: a wrong file is refused with the same text at each look, so that it is logged and counted once.
func TestRulesSameError(t *testing.T) {
	r := rule{Events: []string{"["}, Exclude: []string{"sched:b"}}
	_, want := r.selection()
	require.ErrorContains(t, want, "events: ")
	for range 100 {
		_, err := r.selection()
		require.EqualError(t, err, want.Error())
	}
}

// watched is a session with a file of rules that the test looks at, and what the session logs with the options of the Collector's logger.
func watched(t *testing.T, text string) (s *session, m *machine, logs *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.InfoLevel)
	set := receivertest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core, zap.AddStacktrace(zapcore.ErrorLevel))
	cfg := fast()
	cfg.Discovery.RulesFile = filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(cfg.Discovery.RulesFile, []byte(text), 0o600))
	m = newMachine(t, nil)
	s, err := newSession(set, cfg, m.open)
	require.NoError(t, err)
	return s, m, logs
}

// messages returns what was logged, and forgets it. No line has a stack trace: the reasons are outside of the program.
func messages(t *testing.T, logs *observer.ObservedLogs) (list []string) {
	t.Helper()
	for _, e := range logs.TakeAll() {
		list = append(list, e.Message)
		assert.Empty(t, e.Stack, e.Message)
	}
	return list
}

// TestRulesExpired: a rule whose time is over when the file is read is named once for each version of the file, and the others are in force.
func TestRulesExpired(t *testing.T) {
	s, _, logs := watched(t, "rules: [{until: 2026-11-26T12:00:00Z}, {until: 2026-11-27T12:15:00Z}, {until: 2026-11-27T12:00:00Z}]")
	for range 3 {
		s.lookAtRules(noon)
		assert.Len(t, s.rules.inForce(), 1)
	}
	require.Equal(t, 1, logs.Len())
	e := logs.All()[0]
	assert.Equal(t, zapcore.WarnLevel, e.Level)
	assert.Equal(t, map[string]any{"file": s.rules.path, "rules": []any{1, 3}}, e.ContextMap())
	assert.Equal(t, []string{"rules of the file have expired and are not in force"}, messages(t, logs))

	s.lookAtRules(noon.Add(15 * time.Minute))
	assert.Empty(t, s.rules.inForce())
	assert.Empty(t, messages(t, logs), "it was in force until its end")

	require.NoError(t, os.WriteFile(s.rules.path, []byte("rules: [{until: 2026-11-26T12:00:00Z}]"), 0o600))
	s.lookAtRules(noon)
	assert.Equal(t, []string{"rules of the file have expired and are not in force"}, messages(t, logs))
}

// TestRulesRefused: a wrong file is logged once.
func TestRulesRefused(t *testing.T) {
	s, _, logs := watched(t, "rules: [{until: soon}]")
	for range 3 {
		s.lookAtRules(noon)
	}
	assert.Equal(t, []string{"the file of rules is refused: the earlier rules stay until they end"}, messages(t, logs))
}

// TestRulesTriedAgain: while the reader refuses the rules, each look at the file tries again, and logs each reason once.
func TestRulesTriedAgain(t *testing.T) {
	s, m, logs := watched(t, goodRules)
	m.logger("myapp")
	src, err := s.openSource()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, src.Close()) })
	busy, full := errors.New("busy"), errors.New("no room")
	m.refuse = []error{busy, busy, full, nil, busy}
	for range len(m.refuse) {
		s.lookAtRules(noon)
	}
	assert.Equal(t, []error{busy}, m.refuse, "it is not tried again after a success")
	assert.Equal(t, []string{"rules are not applied", "rules are not applied", "rules are in force"}, messages(t, logs))
}

// TestRulesRefusedAtOpen: rules that a source refuses when it is opened do not keep it from collecting the rest, and are tried again at the
// next look.
func TestRulesRefusedAtOpen(t *testing.T) {
	s, m, logs := watched(t, goodRules)
	m.logger("myapp")
	s.lookAtRules(noon) // before the source is open
	m.refuse = []error{errors.New("no room")}
	src, err := s.openSource()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, src.Close()) })
	assert.Equal(t, []string{"rules are not applied"}, messages(t, logs))
	s.lookAtRules(noon)
	assert.Equal(t, []string{"rules are in force"}, messages(t, logs))
	s.lookAtRules(noon)
	assert.Empty(t, messages(t, logs))
}
