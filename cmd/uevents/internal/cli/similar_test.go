package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/record"
)

// TestSimilarPatterns: each suggestion is a pattern that events match. A pattern that matches needs none.
func TestSimilarPatterns(t *testing.T) {
	e := &env{tracefs: "testdata/tracefs"}
	for pattern, want := range map[string]string{
		"myap": "[myapp]", "Myapp": "[myapp]", "myapp_inof": "[myapp_info]", "myapp_eror": "[myapp_error]", "myap_*": "[myapp]", "sensro": "[sensor]",
		"user_events:myap": "[myapp]", "bill": "[billing]", "myapp_nosuchevent": "[]", "nosuch": "[]", "xy": "[]",
		"myapp": "[]", "myapp_*": "[]", "*": "[]", "m*p": "[]", "[": "[]", "_*": "[]", "": "[]", "sched:sched_swich": "[]",
	} {
		assert.Equal(t, want, fmt.Sprint(e.similarPatterns([]string{pattern})), pattern)
	}
	assert.Equal(t, []string{"myapp", "sensor"}, e.similarPatterns([]string{"myap", "billing", "sensro", "myap"}))
	assert.Equal(t, "did you mean myapp, sensor? ", e.didYouMean([]string{"myap", "sensro"}))
	assert.Empty(t, e.didYouMean([]string{"nosuch"}))
}

// TestNoEventMatches: a command that waits for events says which similar ones there are.
func TestNoEventMatches(t *testing.T) {
	for pattern, want := range map[string]string{"myap": "did you mean myapp? see uevents list", "nosuch": "see uevents list", "myapp": "see uevents list"} {
		for start, args := range map[string][]string{
			"no event matches yet (":                            {"watch", pattern},
			"recording events that will match (none does yet, ": {"record", pattern, "-o", t.TempDir() + "/a.jsonl"},
		} {
			var errs syncbuffer.Buffer
			f := newFeed()
			f.stats.Events = nil
			assert.Equal(t, 0, run(t.Context(), f.env(t, io.Discard, &errs), append([]string{"--tracefs", "testdata/tracefs"}, args...)))
			assert.Regexp(t, "^"+inNamespace+regexp.QuoteMeta(start+want)+"[;)]", &errs)
		}
	}
}

// TestUnmatchedPatterns: of several patterns, those that no event matches are said, with similar ones.
func TestUnmatchedPatterns(t *testing.T) {
	const nosuch, myap = "! no event matches nosuch%s\n", "! no event matches myapp_eror%s (did you mean myapp_error?)\n"
	for _, args := range [][]string{{"watch"}, {"watch", "--no-follow"}, {"record", "-o", t.TempDir() + "/a.jsonl"}, {"list"}, {"list", "-o", "json"}} {
		var errs syncbuffer.Buffer
		f := newFeed("one")
		line := append(append([]string{"--tracefs", "testdata/tracefs"}, args...), "myapp_info", "nosuch", "myapp_eror", "sched:x", "myapp_error", "nosuch")
		assert.Equal(t, 0, run(t.Context(), f.env(t, io.Discard, &errs), line), &errs)
		yet := " yet"
		if args[0] == "list" || len(args) == 2 {
			yet = ""
		}
		assert.Equal(t, 1, strings.Count(errs.String(), fmt.Sprintf(nosuch+myap, yet, yet)), "%s: %s", args, &errs)
		assert.Equal(t, 2, strings.Count(errs.String(), "no event matches"), "%s: %s", args, &errs)
	}
	var errs strings.Builder
	e := &env{tracefs: "testdata/tracefs", err: &errs}
	var patterns []string
	for i := range 15 {
		patterns = append(patterns, fmt.Sprint("nosuch", i))
	}
	e.sayUnmatched(patterns, nil, true)
	assert.Equal(t, 11, strings.Count(errs.String(), "\n"))
	assert.Contains(t, errs.String(), "! 5 more patterns match no event yet\n")
}

// TestErrorOnce: an error that several calls return is printed once.
func TestErrorOnce(t *testing.T) {
	for _, args := range [][]string{{"watch", "myapp"}, {"watch", "myapp", "-o", "json"}, {"list"}, {"--help"}, {"completion", "bash"}} {
		var errs syncbuffer.Buffer
		e := newFeed("one", "two").env(t, fullWriter{}, &errs)
		assert.Equal(t, 1, run(t.Context(), e, append([]string{"--tracefs", tracefsOfFiles(t)}, args...)))
		assert.Equal(t, 1, strings.Count(errs.String(), "no space left on device"), "%s: %s", args, &errs)
	}
	var errs syncbuffer.Buffer
	f := newFeed()
	f.openErr = errors.Join(errors.New("same\tone"), errors.New("other"), errors.New("same\tone"))
	assert.Equal(t, 1, run(t.Context(), f.env(t, fullWriter{}, &errs), []string{"--tracefs", tracefsOfFiles(t), "watch", "myapp"}))
	assert.Equal(t, "uevents: same  one\n  other\n", errs.String())
}

// TestMissingNamesLive: a misspelt name, for which records are read and none is shown, is said while the command runs, and at the end.
func TestMissingNamesLive(t *testing.T) {
	for _, args := range [][]string{{"watch", "myapp"}, {"record", "myapp", "-o", t.TempDir() + "/x.jsonl"}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) //nolint:forbidigo // in a synctest bubble
			defer cancel()
			f := newFeed()
			f.more = func(f *feed) {
				ev := newRecord("one", record.SeverityInfo)
				assert.False(t, f.o.Where.Match(&ev))
			}
			var errs syncbuffer.Buffer
			early, later := "", ""
			time.AfterFunc(3*time.Second, func() { early = errs.String() })  //nolint:forbidigo // in a synctest bubble
			time.AfterFunc(30*time.Second, func() { later = errs.String() }) //nolint:forbidigo // in a synctest bubble
			args := append([]string{"--tracefs", "testdata/tracefs"}, append(args, "-w", "trace == 3 or trace == 4 or rout == 3 or status == ok")...)
			assert.Equal(t, 0, run(ctx, f.env(t, io.Discard, &errs), args), &errs)
			synctest.Wait()
			const line = "! no record that was asked for trace has it: did you mean trace_flags, trace_id, trace_state?\n"
			const field = "! no record that was asked for rout has it: did you mean route?\n"
			assert.NotContains(t, early, "! no record")
			assert.Equal(t, 1, strings.Count(later, line), later)
			assert.Equal(t, 2, strings.Count(errs.String(), line), &errs)
			assert.Equal(t, 2, strings.Count(errs.String(), field), &errs)
		})
	}
}

// TestMissingNames: each name is said once, as the flag that stands for it, and one that records can have without suggestions.
func TestMissingNames(t *testing.T) {
	f := conditionFlags{where: []string{"levl == 1 or unit == x or unit == y or trace_id == 1a or level == info"}, level: "warn"}
	f.workloads.units = []string{"x"}
	where, err := f.condition()
	assert.NoError(t, err)
	ev := record.Record{Kind: record.KindOther}
	var errs strings.Builder
	m := missingNames{e: &env{err: &errs}, where: where, flags: &f, fields: []string{}}
	m.say()
	assert.Empty(t, errs.String(), "no record yet")
	where.Match(&ev)
	m.say()
	assert.Equal(t, "! no record has a unit: --unit\n", errs.String(), "of and, the first part decides")
	f.workloads.units = nil
	where, err = f.condition()
	assert.NoError(t, err)
	where.Match(&ev)
	errs.Reset()
	m.where = where
	m.say()
	assert.Equal(t, "! no record that was asked for levl has it: did you mean level?\n! no record that was asked for unit has it\n"+
		"! no record that was asked for trace_id has it\n! no record has a level: --level\n", errs.String())
	(&missingNames{}).say()
}
