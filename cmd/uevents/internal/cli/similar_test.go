package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/syncbuffer"
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
