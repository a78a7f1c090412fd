package usereventsreceiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
)

// rule selects records for a while, beside those that the configuration selects.
type rule struct {
	Events  []string `mapstructure:"events"` // patterns of user events; none means all
	Exclude []string `mapstructure:"exclude"`
	Level   string   `mapstructure:"level"`
	Where   string   `mapstructure:"where"`
	Until   any      `mapstructure:"until"` // a string, or the time that YAML makes of one without quotes

	end time.Time // Until, parsed
}

// ruleFile is the content of the file. Errors have the name of the type.
type ruleFile struct {
	Rules []rule `mapstructure:"rules"`
}

const (
	rulesInterval = time.Second    // between looks at the file
	maxRuleTime   = 24 * time.Hour // that a rule lasts, at most: a mistake ends by itself
	maxRules      = 100
	maxRulesSize  = 64 << 10 // of the file: the memory and the time that a parser needs are a multiple of that
)

// parseRules parses the content of a file of rules. It reports all errors, and returns no rules then. Rules that have expired are no error.
func parseRules(text []byte, now time.Time) ([]rule, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	if err != nil {
		return nil, err
	}
	conf, err := retrieved.AsConf()
	if err != nil {
		return nil, fmt.Errorf("the file is not a mapping with the key rules: %w", err)
	}
	var file ruleFile
	if err := conf.Unmarshal(&file); err != nil {
		return nil, err
	}
	if len(file.Rules) > maxRules {
		return nil, fmt.Errorf("there are %d rules, and at most %d are allowed", len(file.Rules), maxRules)
	}
	var errs []error
	for i := range file.Rules {
		if err := file.Rules[i].check(now); err != nil {
			errs = append(errs, fmt.Errorf("rule %d: %w", i+1, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return file.Rules, nil
}

func (r *rule) check(now time.Time) error {
	_, err := r.selection()
	end, untilErr := endOf(r.Until)
	if r.end = end; untilErr == nil && end.Sub(now) > maxRuleTime {
		untilErr = fmt.Errorf("until: %s is more than %v from now", end.Format(time.RFC3339), maxRuleTime)
	}
	return errors.Join(err, untilErr)
}

// endOf returns the time of the key until.
func endOf(until any) (end time.Time, err error) {
	const want = "want RFC 3339, as 2026-01-02T15:04:05Z"
	switch v := until.(type) {
	case nil:
		return end, errors.New("until is missing: " + want)
	case time.Time:
		return v, nil
	case string:
		if end, err = time.Parse(time.RFC3339, v); err == nil {
			return end, nil
		}
	}
	return end, fmt.Errorf("until: %q is no time: %s", fmt.Sprint(until), want)
}

// selection returns the rule for a reader. Errors have the keys.
func (r *rule) selection() (reader.Selection, error) {
	allow := func(p string) error {
		if !ofUserEvents(p) {
			return fmt.Errorf("pattern %q is not one of user events", p)
		}
		return nil
	}
	errs := append(checkPatterns("events", r.Events, allow), checkPatterns("exclude", r.Exclude, allow)...)
	where, err := (&Config{Level: r.Level, Where: r.Where}).where()
	return reader.Selection{Events: orAll(r.Events), Excludes: r.Exclude, Where: where}, errors.Join(append(errs, err)...)
}

type rules struct {
	path string
	text []byte // of the last look; nil if there was none or no file
	last string // what was wrong with the file

	failed string // why the rules in force are not applied; empty if they are; guarded by session.mu

	mu   sync.Mutex
	list []rule // in force; guarded by mu
}

// look reads the file, drops the rules whose time is over, and reports whether the rules in force have changed. With an error, they are
// those of before, until their end. expired has the numbers of the rules of a new file whose time was over before.
func (r *rules) look(now time.Time) (changed bool, expired []int, err error) {
	text, err := readRules(r.path)
	isNew := err == nil && (!bytes.Equal(text, r.text) || r.last != "")
	list := r.list
	if isNew {
		var parsed []rule
		if parsed, err = parseRules(text, now); err == nil {
			list = parsed
		}
		r.text = text
	}
	isNew = isNew && err == nil
	var inForce []rule
	for i := range list {
		switch left := list[i].end.Sub(now); {
		case left > 0 && left <= maxRuleTime: // else the clock was set back
			inForce = append(inForce, list[i])
		case left <= 0 && isNew:
			expired = append(expired, i+1)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = len(inForce) != len(r.list) || isNew && len(inForce) > 0
	r.list = inForce
	return changed, expired, err
}

// readRules returns the content of a file of rules, and nothing if there is none.
func readRules(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // another one may let the reader wait, or have no end
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRulesSize+1))
	if err == nil && len(text) > maxRulesSize {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxRulesSize)
	}
	return text, err
}

// next returns the time until the next look.
func (r *rules) next(now time.Time) time.Duration {
	wait := rulesInterval
	for i := range r.list {
		wait = min(wait, max(r.list[i].end.Sub(now), 0))
	}
	return wait
}

// inForce returns the rules that are in force.
func (r *rules) inForce() []rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

// watchRules keeps to the file of rules until Shutdown. It reads the file rather than to be told of changes: a ConfigMap is a link to a
// link, which another one replaces.
func (s *session) watchRules() {
	for {
		s.lookAtRules(time.Now())
		select {
		case <-s.stopping:
			return
		case <-time.After(s.rules.next(time.Now())):
		}
	}
}

// lookAtRules looks at the file of rules, and applies the rules if they have changed or were not applied before.
func (s *session) lookAtRules(now time.Time) {
	file := zap.String("file", s.rules.path)
	changed, expired, err := s.rules.look(now)
	if err != nil && err.Error() != s.rules.last {
		s.logger.Error("the file of rules is refused: the earlier rules stay until they end", file, zap.Error(err))
		s.telemetry.ReceiverUserEventsRefusedRules.Add(s.ctx, 1, s.telemetry.with())
	}
	if s.rules.last = ""; err != nil {
		s.rules.last = err.Error()
	}
	if len(expired) > 0 {
		s.logger.Warn("rules of the file have expired and are not in force", file, zap.Ints("rules", expired))
	}
	if changed || s.rulesFailed() {
		s.applyRules()
	}
}

func (s *session) rulesFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules.failed != ""
}

// applyRules makes the open source keep to the rules.
func (s *session) applyRules() {
	list := s.rules.inForce()
	s.telemetry.ReceiverUserEventsActiveRules.Record(s.ctx, int64(len(list)), s.telemetry.with())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		s.rules.failed = ""
		return // openSource applies them
	}
	if s.selectRules(list) {
		s.logger.Info("rules are in force", zap.Int("rules", len(list)))
	}
}

// selectRules makes the source keep to rules, and reports whether it does. They were checked, so the reason of an error may pass: the next
// look tries again. The caller holds mu.
func (s *session) selectRules(list []rule) bool {
	before := s.rules.failed
	s.rules.failed = ""
	err := s.source.Select(s.selections(list)...)
	if err == nil || errors.Is(err, os.ErrClosed) {
		return true
	}
	if s.rules.failed = err.Error(); s.rules.failed != before {
		s.logger.Error("rules are not applied", zap.Error(err))
	}
	return false
}
