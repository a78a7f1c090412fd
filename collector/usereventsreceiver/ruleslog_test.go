package usereventsreceiver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
)

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
		assert.Len(t, s.rules.additions(), 1)
	}
	require.Equal(t, 1, logs.Len())
	e := logs.All()[0]
	assert.Equal(t, zapcore.WarnLevel, e.Level)
	assert.Equal(t, map[string]any{"file": s.rules.path, "rules": []any{1, 3}}, e.ContextMap())
	assert.Equal(t, []string{"rules of the file have expired and are not in force"}, messages(t, logs))

	s.lookAtRules(noon.Add(15 * time.Minute))
	assert.Empty(t, s.rules.additions())
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
