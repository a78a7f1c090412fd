package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

type timeRangeFlags struct{ since, until string }

const timeRangeHelp = `--since and --until select the records from one time on, and before another one. A TIME is
  2026-11-27T03:12:05Z, 2026-11-27 03:12    with or without seconds, their fraction and the zone
  03:12, 03:12:05.25                        the latest such time that has passed; of --until, if
                                            there is --since, the first one after that
  5m, 1h30m, 2d                             so long ago
Without a zone, it is one of the local time zone, in which text has times by default.`

func (f *timeRangeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "only records from this `TIME` on, such as 03:12, '2026-11-27 03:12' or 5m (ago)")
	flags.StringVar(&f.until, "until", "", "only records before this `TIME`")
	completeFlag(cmd, "since")
	completeFlag(cmd, "until")
}

// timeRange returns the range of the flags. Errors are usage errors.
func (f *timeRangeFlags) timeRange(now time.Time) (r timeRange, err error) {
	r.zone = now.Location()
	if f.since != "" {
		m, err := parseMoment("--since", f.since, now)
		if err != nil {
			return timeRange{}, err
		}
		r.since = m.last(now)
	}
	if f.until != "" {
		m, err := parseMoment("--until", f.until, now)
		if err != nil {
			return timeRange{}, err
		}
		if r.until = m.last(now); m.daily && f.since != "" {
			r.until = m.after(r.since)
		}
		if f.since != "" && !r.since.Before(r.until) {
			return timeRange{}, usageError{fmt.Errorf("--since %s is not before --until %s", r.text(r.since), r.text(r.until))}
		}
	}
	return r, nil
}

// moment is a time of the command line.
type moment struct {
	at    time.Time
	daily bool // it is a time of day, and at is on any day
}

// Layouts of moments. [time.Parse] takes a fraction of the seconds with all.
var (
	dateLayouts  = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}
	clockLayouts = []string{"15:04:05", "15:04"}
)

// maxDays limits a number of days, so that it is a duration.
const maxDays = 100_000

// parseMoment parses a time: a date with or without a time of day, a time of day, or how long ago. Errors are usage errors.
func parseMoment(flag, s string, now time.Time) (moment, error) {
	for _, layout := range slices.Concat(dateLayouts, clockLayouts) {
		for _, zone := range []string{"", "Z07:00"} {
			t, err := time.ParseInLocation(layout+zone, s, now.Location())
			if err != nil {
				continue
			}
			daily := slices.Contains(clockLayouts, layout)
			if daily && zone == "" { // of the year 0, whose zone had another offset
				t = time.Date(0, 1, 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
			}
			return moment{t, daily}, nil
		}
	}
	if ago, ok := parseAgo(s); ok {
		return moment{at: now.Add(-ago)}, nil
	}
	return moment{}, usageError{fmt.Errorf("%s: %q is no time such as 2026-11-27T03:12:05Z, '2026-11-27 03:12', 03:12, or 5m (ago)", flag, s)}
}

// parseAgo parses a duration, which may begin with a number of days: 5m, 2d, 1d12h. A minus in front, as journalctl takes it, changes
// nothing.
func parseAgo(s string) (ago time.Duration, ok bool) {
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, false
	}
	if days, rest, found := strings.Cut(s, "d"); found {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > maxDays || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return 0, false
		}
		if ago = time.Duration(n) * 24 * time.Hour; rest == "" {
			return ago, true
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	return ago + d, err == nil && ago+d >= 0 // or it overflows
}

// last returns the time, of a time of day the latest one that has passed.
func (m moment) last(now time.Time) time.Time {
	if !m.daily {
		return m.at
	}
	for day := 0; ; day-- {
		for _, t := range slices.Backward(m.on(now, day)) {
			if !t.After(now) {
				return t
			}
		}
	}
}

// after returns the first such time of day after a time.
func (m moment) after(before time.Time) time.Time {
	for day := 0; ; day++ {
		for _, t := range m.on(before, day) {
			if t.After(before) {
				return t
			}
		}
	}
}

// on returns the times at which clocks show the time of day on the day of a time, or so many days later: two where the clock is set back, and
// where it is set forward over the time of day, the moment of that.
func (m moment) on(day time.Time, later int) (times []time.Time) {
	zone := m.at.Location()
	y, month, d := day.In(zone).Date()
	at := time.Date(y, month, d+later, m.at.Hour(), m.at.Minute(), m.at.Second(), m.at.Nanosecond(), zone)
	for _, t := range []time.Time{at.Add(-time.Hour), at, at.Add(time.Hour)} {
		if t.Hour() == m.at.Hour() && t.Minute() == m.at.Minute() {
			times = append(times, t)
		}
	}
	if len(times) == 0 {
		begin, end := at.ZoneBounds()
		if !end.IsZero() && end.Sub(at) < at.Sub(begin) {
			begin = end
		}
		times = append(times, begin)
	}
	return times
}

// timeRange selects records by their time. Its zero value selects all.
type timeRange struct {
	since, until time.Time // zero: no limit
	zone         *time.Location

	selected, untimed uint64
	first, last       time.Time // of the records that have one
}

func (r *timeRange) limited() bool { return !r.since.IsZero() || !r.until.IsZero() }

func (r *timeRange) has(t time.Time) bool {
	return !t.Before(r.since) && (r.until.IsZero() || t.Before(r.until))
}

// selects reports whether a record of a time is selected. Records without a time are not, if there is a limit.
func (r *timeRange) selects(t time.Time) bool {
	if !r.limited() {
		return true
	}
	if t.IsZero() {
		r.untimed++
		return false
	}
	if r.first.IsZero() || t.Before(r.first) {
		r.first = t
	}
	if t.After(r.last) {
		r.last = t
	}
	if !r.has(t) {
		return false
	}
	r.selected++
	return true
}

// say says why no record is selected.
func (r *timeRange) say(e *env) {
	if r.untimed > 0 {
		e.say("! %s without a time, which --since and --until leave out", output.Plural(r.untimed, "record"))
	}
	if r.limited() && r.selected == 0 && !r.first.IsZero() {
		e.say("! no record is %s: they are from %s to %s", r.limits(), r.text(r.first), r.text(r.last))
	}
}

func (r *timeRange) limits() string {
	var parts []string
	if !r.since.IsZero() {
		parts = append(parts, "from "+r.text(r.since)+" on")
	}
	if !r.until.IsZero() {
		parts = append(parts, "before "+r.text(r.until))
	}
	return strings.Join(parts, " and ")
}

func (r *timeRange) text(t time.Time) string { return t.In(r.zone).Format("2006-01-02 15:04:05.000") }
