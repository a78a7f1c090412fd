package usereventsreceiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
)

// rule selects records for a while, beside those that the configuration selects.
type rule struct {
	Events  []string  `mapstructure:"events"` // patterns of user events; none means all
	Exclude []string  `mapstructure:"exclude"`
	Level   string    `mapstructure:"level"`
	Where   string    `mapstructure:"where"`
	Until   time.Time `mapstructure:"until"`
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

// parseRules parses the content of a file of rules. It reports all errors, and returns no rules then.
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
	_, err := r.addition()
	switch {
	case r.Until.IsZero():
		err = errors.Join(err, errors.New("until is missing: a time such as 2026-11-27T05:15:00Z"))
	case r.Until.Sub(now) > maxRuleTime:
		err = errors.Join(err, fmt.Errorf("until: %s is more than %v from now", r.Until.Format(time.RFC3339), maxRuleTime))
	}
	return err
}

// addition returns the rule for a reader. Errors have the keys.
func (r *rule) addition() (reader.Addition, error) {
	allow := func(p string) error {
		if !ofUserEvents(p) {
			return fmt.Errorf("pattern %q is not one of user events", p)
		}
		return nil
	}
	errs := append(checkPatterns("events", r.Events, allow), checkPatterns("exclude", r.Exclude, allow)...)
	where, err := (&Config{Level: r.Level, Where: r.Where}).where()
	events := r.Events
	if len(events) == 0 {
		events = []string{"*"}
	}
	return reader.Addition{Events: events, Excludes: r.Exclude, Where: where}, errors.Join(append(errs, err)...)
}

// rules are those of the file discovery.rules_file.
type rules struct {
	path string
	text []byte // of the last look; nil if there was none or no file
	last string // what was wrong with the file

	mu   sync.Mutex
	list []rule // in force; guarded by mu
}

// look reads the file, drops the rules whose time is over, and reports whether the rules in force have changed. With an error, they are
// those of before, until their end.
func (r *rules) look(now time.Time) (changed bool, err error) {
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
	list = slices.DeleteFunc(slices.Clone(list), func(r rule) bool {
		left := r.Until.Sub(now)
		return left <= 0 || left > maxRuleTime // the clock was set back
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = len(list) != len(r.list) || isNew && err == nil && len(list) > 0
	r.list = list
	return changed, err
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
		wait = min(wait, max(r.list[i].Until.Sub(now), 0))
	}
	return wait
}

// additions returns the rules in force for a reader.
func (r *rules) additions() (list []reader.Addition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		a, _ := r.list[i].addition() // parseRules has checked it
		list = append(list, a)
	}
	return list
}

// watchRules keeps to the file of rules until Shutdown. It reads the file rather than to be told of changes: a ConfigMap is a link to a
// link, which another one replaces.
func (s *session) watchRules() {
	for {
		changed, err := s.rules.look(time.Now())
		if err != nil && err.Error() != s.rules.last {
			s.logger.Error("the file of rules is refused: the earlier rules stay until they end", zap.String("file", s.rules.path), zap.Error(err))
			s.telemetry.ReceiverUserEventsRefusedRules.Add(s.ctx, 1, s.telemetry.with())
		}
		if s.rules.last = ""; err != nil {
			s.rules.last = err.Error()
		}
		if changed {
			s.applyRules()
		}
		select {
		case <-s.stopping:
			return
		case <-time.After(s.rules.next(time.Now())):
		}
	}
}

// applyRules makes the open source keep to the rules.
func (s *session) applyRules() {
	list := s.rules.additions()
	s.telemetry.ReceiverUserEventsActiveRules.Record(s.ctx, int64(len(list)), s.telemetry.with())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		return // openSource applies them
	}
	if err := s.source.Add(list); err != nil && !errors.Is(err, os.ErrClosed) {
		s.logger.Error("rules are not applied", zap.Error(err))
		return
	}
	s.logger.Info("rules are in force", zap.Int("rules", len(list)))
}
