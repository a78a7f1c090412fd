package cli

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may have no time zones

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		m, err := parseMoment(s, rangeNow)
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
