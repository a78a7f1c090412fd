package reader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/tracepoint"
)

// isSeverity reports whether the part is the severity.
func (p *part) isSeverity() bool { return slices.Equal(p.fields, levelFields) }

// severity returns the bound of a comparison with the severity, which the name of a tracepoint can say, or a part of it.
func (p *planner) severity(l *leaf) bound {
	d := p.d
	holds := func(s Severity) bool {
		v := Int64Value(int64(s))
		return l.has || l.holds(nil, &v, true)
	}
	first, last := d.severities()
	field := slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool {
		return slices.Contains(l.part.fields, f.Name) && p.isPart(f.Name) && isNumber(f.Type)
	})
	if field < 0 && !d.isHeader {
		if d.layout != nil && d.layout.applies != nil {
			return unknown
		}
		return never
	}
	slog := field >= 0 && d.format.Fields[field].Name == "level"
	if slog && !d.format.Fields[field].Type.Kind.Signed() {
		return unknown
	}
	var runs [][2]Severity
	for s := first; s <= last; s++ {
		switch n := len(runs); {
		case !holds(s):
		case n > 0 && runs[n-1][1] == s-1:
			runs[n-1][1] = s
		default:
			runs = append(runs, [2]Severity{s, s})
		}
	}
	switch {
	case len(runs) == 0:
		return never
	case slog && runs[0] == [2]Severity{first, last}:
		return always
	case d.isHeader:
		return unknown
	}
	var filters []string
	for _, run := range runs {
		filters = append(filters, severityFilter(d.format.Fields[field].Name, slog, run))
	}
	return filtered(strings.Join(filters, " || "))
}

// severityFilter returns the filter of a range of severities. Levels of slog beyond the severities have the first or the last one.
func severityFilter(field string, slog bool, run [2]Severity) string {
	offset := 0
	if slog {
		offset = slogOffset
	}
	least := fmt.Sprintf("%s >= %d", field, int(run[0])-offset)
	most := fmt.Sprintf("%s <= %d", field, int(run[1])-offset)
	switch {
	case slog && run[1] == maxSeverity:
		return least
	case slog && run[0] == SeverityTrace:
		return most
	}
	return least + " && " + most
}

// severities returns the range of severities that the records of a tracepoint have, as far as its name says. The adapters of this module
// have an event for each range of levels. Records of EventHeader may have a severity of their own, which is in the range of their level, or
// none.
func (d *Decoder) severities() (first, last Severity) {
	if d.isHeader {
		switch s := severityOfHeader(d.header.Level); s {
		case SeverityTrace, SeverityDebug:
			return SeverityTrace, SeverityInfo - 1
		case SeverityInfo, SeverityWarn:
			return SeverityTrace, s + 3
		}
		return SeverityTrace, maxSeverity
	}
	for _, l := range levelSuffixes {
		if (d.layout == slogLevel || d.layout == otelLog) && strings.HasSuffix(d.registered, l.suffix) {
			return l.first, l.last
		}
	}
	return SeverityTrace, maxSeverity
}

// levelSuffixes are the suffixes of events with a range of levels, and the severities of the range.
var levelSuffixes = []struct {
	suffix      string
	first, last Severity
}{
	{"_debug", SeverityTrace, SeverityInfo - 1},
	{"_info", SeverityInfo, SeverityWarn - 1},
	{"_warn", SeverityWarn, SeverityError - 1},
	{"_error", SeverityError, maxSeverity},
}
