package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no time zones

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
)

// TestConditionPlace: the error of a condition marks the place. It shows what is around the place of a long one.
func TestConditionPlace(t *testing.T) {
	const long = 30_000
	many := strings.Repeat("a == 1 or ", long/10)
	for name, c := range map[string]struct{ text, line, mark string }{
		"short":     {"a == 1 or\tb", "a == 1 or b", "           ^"},
		"beginning": {"a b " + many, "a b " + many[:66] + "...", "  ^"},
		"end":       {many + "b", "..." + (many + "b")[len(many)-69:], strings.Repeat(" ", 73) + "^"},
		"middle":    {many + "b c " + many, "..." + many[len(many)-33:] + "b c " + many[:33] + "...", strings.Repeat(" ", 38) + "^"},
		"letters":   {strings.Repeat("é == 1 or ", 100) + "b", "..." + strings.Repeat("é == 1 or ", 7)[2:] + "b", strings.Repeat(" ", 73) + "^"},
	} {
		_, err := parseCondition("--where", c.text)
		if assert.Error(t, err, name) {
			lines := strings.Split(err.Error(), "\n")
			assert.Len(t, lines, 3, name)
			assert.Equal(t, []string{"  " + c.line, "  " + c.mark}, lines[1:], name)
		}
	}
	_, err := parseCondition("--where", "kind == "+strings.Repeat("x", long))
	if assert.Error(t, err) {
		assert.Less(t, len(err.Error()), 500)
	}
}

// TestTriggerOptions: a record triggers if it meets the trigger, and is selected.
func TestTriggerOptions(t *testing.T) {
	for _, c := range []struct {
		trigger string
		events  []string
		level   string
		want    string
	}{
		{"", nil, "", ""},
		{"", nil, "error", ""},
		{"", []string{"a_*"}, "", ""},
		{"", []string{"a_*"}, "error", "kind in (log, other) and (level >= error or not has(level))"},
		{"status >= 500 or has(x)", nil, "", "status >= 500 or has(x)"},
		{"status >= 500 or has(x)", []string{"a_*"}, "error", "(status >= 500 or has(x)) and (kind in (log, other) and (level >= error or not has(level)))"},
	} {
		f := flightFlags{trigger: c.trigger, triggerEvents: c.events, keep: "64M", atMost: "6/h", format: "txt"}
		f.level = c.level
		o, _, _, err := f.flightOptions([]string{"a"})
		require.NoError(t, err)
		got := ""
		if o.Trigger != nil {
			got = o.Trigger.String()
		}
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.events, o.TriggerEvents)
	}
	f := flightFlags{trigger: "status >>", keep: "64M", atMost: "6/h"}
	f.level = "error"
	_, _, _, err := f.flightOptions(nil)
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, "--trigger")
}

func TestParseKeep(t *testing.T) {
	for s, want := range map[string]keep{
		"64M": {64 << 20, 0}, "10s": {defaultKeep, 10 * time.Second}, "512K,5m": {512 << 10, 5 * time.Minute}, "1h,1G": {1 << 30, time.Hour},
	} {
		got, err := parseKeep(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "64", "0M", "-1M", "M", "1M,2M", "1s,2s", "64M,", "99999999999999G", "0s", "63K", "-1s"} {
		_, err := parseKeep(s)
		assert.Error(t, err, s)
	}
	assert.Equal(t, 8<<20, keep{bytes: 64 << 20}.ring(8))
	assert.Equal(t, 8<<20, keep{bytes: 64 << 20}.ring(6), "a power of two that fits")
	assert.Equal(t, leastKeep, keep{bytes: 1 << 20}.ring(64), "the least")
}

// FuzzParseKeep: what is accepted gives each CPU a ring of a power of two, and all together no more than was asked for, or
// the minimum.
func FuzzParseKeep(f *testing.F) {
	for _, s := range []string{"64M", "10s", "64M,10s", "10s,64M", "1G,2562047h", ",", "64K,64K", "63K"} {
		f.Add(s, 4)
	}
	f.Fuzz(func(t *testing.T, s string, cpus int) {
		k, err := parseKeep(s)
		if err != nil {
			require.Zero(t, k)
			return
		}
		require.True(t, k.bytes >= leastKeep && k.bytes <= output.MaxSize && k.age >= 0, "%+v", k)
		if cpus < 1 || cpus > 1<<16 {
			return
		}
		ring := k.ring(cpus)
		require.True(t, ring&(ring-1) == 0 && (ring == leastKeep || ring*cpus <= k.bytes), "%+v on %d CPUs: %d", k, cpus, ring)
	})
}

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

var berlin = time.FixedZone("", 3600)

// rangeNow is the time of the command: half past ten in the morning.
var rangeNow = time.Date(2026, 11, 27, 10, 30, 0, 0, berlin)

func TestTimeRange(t *testing.T) {
	at := func(day, hour, minute, second, ms int) time.Time {
		return time.Date(2026, 11, day, hour, minute, second, ms*1e6, berlin)
	}
	var none time.Time
	for _, c := range []struct {
		since, until         string
		wantSince, wantUntil time.Time
	}{
		{"", "", none, none},
		{"2026-11-27T03:12:00Z", "", at(27, 4, 12, 0, 0), none},
		{"2026-11-27 03:12:00.25Z", "", at(27, 4, 12, 0, 250), none},
		{"2026-11-27T03:12:00+02:00", "", at(27, 2, 12, 0, 0), none},
		{"2026-11-27T03:12", "2026-11-27 03:12:05.25", at(27, 3, 12, 0, 0), at(27, 3, 12, 5, 250)},
		{"2026-11-26", "2026-11-27", at(26, 0, 0, 0, 0), at(27, 0, 0, 0, 0)},
		{"03:12", "", at(27, 3, 12, 0, 0), none},
		{"3:12", "", at(27, 3, 12, 0, 0), none},
		{"03:12:05.25", "", at(27, 3, 12, 5, 250), none},
		{"03:12Z", "", at(27, 4, 12, 0, 0), none},
		{"10:30", "", at(27, 10, 30, 0, 0), none},
		{"10:31", "", at(26, 10, 31, 0, 0), none}, // today's is to come
		{"", "10:31", none, at(26, 10, 31, 0, 0)},
		{"", "03:12", none, at(27, 3, 12, 0, 0)},
		{"09:00", "11:00", at(27, 9, 0, 0, 0), at(27, 11, 0, 0, 0)},
		{"23:00", "01:00", at(26, 23, 0, 0, 0), at(27, 1, 0, 0, 0)}, // over midnight
		{"03:00", "03:00", at(27, 3, 0, 0, 0), at(28, 3, 0, 0, 0)},
		{"2026-11-20 23:00", "01:00", at(20, 23, 0, 0, 0), at(21, 1, 0, 0, 0)},
		{"5m", "", at(27, 10, 25, 0, 0), none},
		{"-5m", "", at(27, 10, 25, 0, 0), none},
		{"1h30m", "1.5m", at(27, 9, 0, 0, 0), at(27, 10, 28, 30, 0)},
		{"2d", "1d12h", at(25, 10, 30, 0, 0), at(25, 22, 30, 0, 0)},
		{"20m", "10:15", at(27, 10, 10, 0, 0), at(27, 10, 15, 0, 0)},
	} {
		r, err := (&timeRangeFlags{c.since, c.until}).timeRange(rangeNow)
		require.NoError(t, err, "%+v", c)
		assert.True(t, c.wantSince.Equal(r.since), "%+v: %s", c, r.since)
		assert.True(t, c.wantUntil.Equal(r.until), "%+v: %s", c, r.until)
	}
	for _, s := range []string{
		"noon", "24:00", "03:12:60", "03", "5", "5x", "--5m", "+5m", "-+5m", "d", "1d-2h", "1d1d", "2026-11-31", "2026-13-01", "2026-11-27T", "2026-11-27T25:00", "3000000h", " ", "99999999d",
	} {
		for _, f := range []timeRangeFlags{{since: s}, {until: s}} {
			_, err := f.timeRange(rangeNow)
			assert.Equal(t, exitUsage, exitCode(err), s)
			assert.ErrorContains(t, err, " is no time such as 2026-11-27T03:12:05Z, '2026-11-27 03:12', 03:12, or 5m (ago)", s)
		}
	}
	for _, f := range []timeRangeFlags{{"5m", "10m"}, {"2026-11-27", "2026-11-26"}, {"5m", "5m"}} {
		_, err := f.timeRange(rangeNow)
		assert.Equal(t, exitUsage, exitCode(err))
		assert.ErrorContains(t, err, " is not before --until 2026-11-2")
	}
}

// TestTimeOfDayInSummerTime: a time of day is that of its day's clock, also over a change of it.
func TestTimeOfDayInSummerTime(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 10, 25, 10, 0, 0, 0, zone) // at 3:00 the clocks were set to 2:00
	r, err := (&timeRangeFlags{"23:00", "04:00"}).timeRange(now)
	require.NoError(t, err)
	assert.Equal(t, 6*time.Hour, r.until.Sub(r.since))
	for _, c := range []struct{ since, until, now, wantSince, wantUntil string }{
		{"02:30", "", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+02:00", ""}, // the first half past two, as there will be another
		{"", "02:30", "2026-10-25T02:45:00+02:00", "", "2026-10-25T02:30:00+02:00"},
		{"02:30", "", "2026-10-25T02:45:00+01:00", "2026-10-25T02:30:00+01:00", ""},
		{"2026-10-25T02:45:00+02:00", "02:15", "2026-10-25T12:00:00+01:00", "2026-10-25T02:45:00+02:00", "2026-10-25T02:15:00+01:00"},
		{"02:30", "03:30", "2026-03-29T12:00:00+02:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}, // which no clock showed
		{"01:30", "02:30", "2026-03-29T12:00:00+02:00", "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		r, err := (&timeRangeFlags{c.since, c.until}).timeRange(now.In(zone))
		require.NoError(t, err)
		for want, got := range map[string]time.Time{c.wantSince: r.since, c.wantUntil: r.until} {
			if want != "" {
				assert.Equal(t, want, got.In(zone).Format(time.RFC3339), "%+v", c)
			}
		}
	}
}

// FuzzParseMoment: what is accepted is a time, of a time of day the latest that has passed, and the first one after that.
func FuzzParseMoment(f *testing.F) {
	for _, s := range []string{"2026-11-27T03:12:00Z", "2026-11-27 03:12:00.25+01:00", "2026-11-27", "03:12", "3:12:05,25Z", "5m", "-1d12h", "0", "99999d2562047h", "24:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := parseMoment("--since", s, rangeNow)
		if err != nil {
			require.Zero(t, m)
			return
		}
		last := m.last(rangeNow)
		if !m.daily {
			require.Equal(t, m.at, last)
			if ago, ok := parseAgo(s); ok {
				require.True(t, ago >= 0 && last.Equal(rangeNow.Add(-ago)), "%s: %s", s, last)
			}
			return
		}
		require.False(t, last.After(rangeNow), "%s", last)
		require.LessOrEqual(t, rangeNow.Sub(last), 24*time.Hour)
		next := m.after(last)
		require.Equal(t, 24*time.Hour, next.Sub(last))
	})
}
