package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
)

// Count returns a number with commas between thousands.
func Count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns a number, which is not negative, with its noun, in the plural if needed.
func Plural[N int | uint64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return Count(uint64(n)) + " " + noun + "s"
}

// FileSize returns a number of bytes with a decimal unit: 98.2 MB.
func FileSize(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// RingSize returns a number of bytes of memory, a multiple of a page, with a binary unit: 512 KiB.
func RingSize(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// MaxSize is the largest number of bytes that ParseSize takes.
const MaxSize = 1 << 30

// ParseSize parses a number of bytes, which may end in K, M or G, or in k, m or g, from 1 to MaxSize.
func ParseSize(s string) (int, error) {
	digits, shift := s, 0
	upper := strings.ToUpper(s)
	for i, unit := range "KMG" {
		for _, suffix := range []string{string(unit) + "IB", string(unit)} {
			if rest, ok := strings.CutSuffix(upper, suffix); ok {
				digits, shift = rest, 10*(i+1)
			}
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || n<<shift > MaxSize {
		return 0, fmt.Errorf("%q is no size from 1 to 1G, such as 512K or 2M", s)
	}
	return int(n << shift), nil
}

// Time is a format for the time of an event.
type Time uint8

// Formats of times.
const (
	Local Time = iota // the machine's clock in the local time zone, to the millisecond
	UTC               // the same in UTC
	Delta             // seconds since the previous event, to the microsecond
	Mono              // seconds of CLOCK_MONOTONIC, to the microsecond
)

var timeNames = [...]string{"local", "utc", "delta", "mono"}

// String returns the name in the syntax of ParseTime.
func (t Time) String() string { return timeNames[t] }

// ParseTime parses local, utc, delta or mono.
func ParseTime(s string) (Time, error) {
	for i, name := range timeNames {
		if s == name {
			return Time(i), nil
		}
	}
	return 0, fmt.Errorf("%w: time %q is none of local, utc, delta and mono", errFormat, s)
}

// clock formats the times of consecutive events.
type clock struct {
	format Time
	today  time.Time // see Options.Today
	dated  bool      // a time of another day came: all times have their date from there on, and stay aligned
	before uint64    // monotonic time of the previous event; 0 if there was none
	unix   int64     // second of short
	short  text.Short
	// encoder has the times of the same events as JSON.
	encoder record.Encoder
}

func newClock(o Options) clock { return clock{format: o.Time, today: o.Today} }

func (c *clock) append(b []byte, t time.Time, mono uint64) []byte {
	switch c.format {
	case Delta:
		before := c.before
		c.before = mono
		if before == 0 {
			before = mono
		}
		if mono < before { // the event is late
			return appendSeconds(append(b, '-'), before-mono)
		}
		return appendSeconds(append(b, '+'), mono-before)
	case Mono:
		return appendSeconds(b, mono)
	case UTC:
		return append(c.appendClock(b, t, time.UTC), 'Z')
	default:
		return c.appendClock(b, t, time.Local)
	}
}

// appendClock appends the time in a zone to the millisecond, behind the date if that is needed.
func (c *clock) appendClock(b []byte, t time.Time, zone *time.Location) []byte {
	if len(c.short.Bytes()) == 0 || t.Unix() != c.unix {
		t = t.In(zone)
		layout := "15:04:05."
		if c.dated = c.dated || !c.today.IsZero() && t.Format(time.DateOnly) != c.today.In(zone).Format(time.DateOnly); c.dated {
			layout = "2006-01-02 15:04:05."
		}
		c.unix = t.Unix()
		c.short.Set(t.AppendFormat(c.short.Bytes()[:0], layout))
	}
	return appendDigits(c.short.Append(b), uint64(t.Nanosecond())/1e6, 3)
}

// appendSeconds appends nanoseconds as seconds with six digits.
func appendSeconds(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1e9, 10)
	b = append(b, '.')
	return appendDigits(b, ns%1e9/1e3, 6)
}

func appendDigits(b []byte, v uint64, n int) []byte {
	var digits [20]byte
	for i := n - 1; i >= 0; i-- {
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(b, digits[:n]...)
}

// AppendDuration appends a duration with three digits and a suitable unit, such as 12.4ms.
func AppendDuration(b []byte, d time.Duration) []byte {
	if d < 0 {
		b, d = append(b, '-'), -max(d, -1<<63+1)
	}
	if d < time.Microsecond {
		return append(strconv.AppendInt(b, int64(d), 10), "ns"...)
	}
	v, unit := float64(d), "ns"
	for _, u := range []string{"us", "ms", "s"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	if v >= 1000 { // seconds
		return append(b, d.Round(time.Second).String()...)
	}
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return append(strconv.AppendFloat(b, v, 'f', digits, 64), unit...)
}
