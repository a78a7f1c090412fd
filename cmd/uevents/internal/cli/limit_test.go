package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

func TestParseLimit(t *testing.T) {
	for s, want := range map[string]int{"5000/s": 5000, "5000": 5000, "1/s": 1, "4294967295": 4294967295} {
		got, err := parseLimit(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "0", "0/s", "-1/s", "5000/m", "5000/", "/s", "5k/s", "4294967296", "1.5/s", "5000/s/s"} {
		_, err := parseLimit(s)
		assert.ErrorContains(t, err, "such as 5000/s", s)
	}
}

// FuzzParseLimit: a limit that is accepted is a number above 0.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"5000/s", "1", "", "-1/s", "9999999999999999999/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseLimit(s)
		require.Equal(t, err == nil, n > 0)
		if err == nil {
			again, err := parseLimit(fmt.Sprintf("%d/s", n))
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}

// TestLimitIsSaid: a line for all events of a second, and the summary, say for how long records are missing.
func TestLimitIsSaid(t *testing.T) {
	for _, verb := range [][]string{{"watch"}, {"record", "-o", t.TempDir() + "/x.jsonl"}} {
		f := newFeed("one")
		for i, ms := range []time.Duration{710, 20, 100, 310} {
			f.notices = append(f.notices, reader.Notice{Kind: reader.NoticeLimited, Event: fmt.Sprintf("user_events:myapp_%c", "aabc"[i]), Count: 1, Gap: ms * time.Millisecond})
		}
		f.stats.Events = append(f.stats.Events, reader.EventStats{Name: "user_events:myapp_a", Limited: 12240 * time.Millisecond})
		f.stats.Total.Limited = 13 * time.Second
		code, _, errs := f.run(t, append(verb, "myapp", "--limit", "5000/s")...)
		assert.Equal(t, 0, code, errs)
		assert.Equal(t, 5000, f.o.Limit)
		assert.Contains(t, errs, "! more than 5,000 records a second (--limit), not recorded: myapp_a for 0.7 s, myapp_c for 0.3 s, myapp_b for 0.1 s\n")
		assert.Contains(t, errs, "; ! --limit, in no count: myapp_a for 12.2 s, others for 0.8 s\n")
		assert.Contains(t, errs, "1 matched = 1 ")

		code, _, errs = new(feed).run(t, append(verb, "myapp", "--limit", "5000/m")...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, `--limit: "5000/m" is no number of records a second`)
		f = newFeed("one")
		_, _, errs = f.run(t, append(verb, "myapp")...)
		assert.NotContains(t, errs, "--limit")
		assert.Zero(t, f.o.Limit)
	}
	assert.Equal(t, "b for 0.3 s, a for 0.2 s, 2 more", listLimited([]limitedEvent{
		{"d", 1}, {"a", 200 * time.Millisecond}, {"b", 300 * time.Millisecond}, {"c", time.Millisecond},
	}))
}
