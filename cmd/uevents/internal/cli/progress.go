package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// say writes a line to standard error, as one line of printable characters.
func (e *env) say(format string, args ...any) {
	fmt.Fprintln(e.err, text.Printable(fmt.Sprintf(format, args...)))
}

// progress is a line on a terminal that is rewritten in place.
type progress struct {
	e     *env
	began time.Time
	drawn bool
}

func (p *progress) show(records uint64, size int64, lost uint64, fill float64) {
	elapsed := p.e.now().Sub(p.began).Round(time.Second)
	line := fmt.Sprintf("%02d:%02d  %s records  %s  %s lost  ring %.0f %%",
		int(elapsed.Minutes()), int(elapsed.Seconds())%60, output.Count(records), output.FileSize(size), output.Count(lost), 100*fill)
	terminal, _ := p.e.terminal(p.e.err)
	fmt.Fprintf(p.e.err, "\r%s"+output.ClearLine, output.Cut(line, terminal.columns-1)) // a terminal wraps behind the last column
	p.drawn = true
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.e.err, "\r"+output.ClearLine)
		p.drawn = false
	}
}

type count struct {
	n    uint64
	what string
}

// countLine accounts for every record: matched = done + lost + ...
func countLine(st *reader.Stats, done string, elapsed time.Duration, others ...count) string {
	total := &st.Total
	parts := []string{done}
	for _, c := range append([]count{{total.Lost, "lost"}}, append(others, count{st.Unselected, "not selected"}, count{st.Copies, "in two events"},
		count{total.Excluded, "of other processes"}, count{total.Pending, "not read"})...) {
		if c.n > 0 {
			parts = append(parts, output.Count(c.n)+" "+c.what)
		}
	}
	line := fmt.Sprintf("%s matched = %s; %.1f s", output.Count(total.Matched), strings.Join(parts, " + "), elapsed.Seconds())
	return line + gaps(st)
}

// gaps says what else is not as it should be, which is in no count of records.
func gaps(st *reader.Stats) (text string) {
	if st.CPUErr != nil {
		text += "; ! records of a CPU that came online are missing: " + st.CPUErr.Error()
	}
	if st.Total.AtLeast {
		text += "; ! more were lost than these counts have"
	}
	text += limitedText(st)
	if n := st.LostTaskRecords; n > 0 {
		text += "; ! lost " + output.Plural(n, "record") + " about processes, whose names can be wrong"
	}
	if n := st.Late; n > 0 {
		text += "; " + output.Plural(n, "record") + " came late, after newer ones"
	}
	return text
}

type contents struct {
	records   uint64
	kinds     [record.KindMetric + 1]uint64
	processes map[int32]bool  // that wrote records
	recent    *record.Process // of the last record; nil if it is unknown, or the record does not count
}

const maxProcesses = 1 << 16

func (c *contents) add(ev *record.Record) {
	c.records++
	if int(ev.Kind) < len(c.kinds) {
		c.kinds[ev.Kind]++
	}
	if ev.Process == c.recent && c.recent != nil {
		return
	}
	if c.processes == nil {
		c.processes = map[int32]bool{}
	}
	if len(c.processes) < maxProcesses && !perfetto.IsSwitch(ev) {
		c.processes[ev.PID] = true
		c.recent = ev.Process
	}
}

// text returns the number of processes, and of events of each kind.
func (c *contents) text() string {
	parts := []string{output.Plural(len(c.processes), "process")}
	if c.kinds[record.KindOther] == c.records {
		return parts[0] + ", " + output.Plural(c.records, "record")
	}
	for kind, n := range c.kinds {
		if n == 0 {
			continue
		}
		name := record.Kind(kind).String()
		switch record.Kind(kind) {
		case record.KindLog:
			name = "log record"
		case record.KindMetric:
			name = "data point"
		case record.KindOther:
			name = "other record"
		}
		parts = append(parts, output.Plural(n, name))
	}
	return strings.Join(parts, ", ")
}

func (r *recording) wrote(what string) string {
	names := r.names()
	if len(names) == 0 {
		return "wrote nothing: " + what
	}
	part, readable := "; ", true
	if r.failed != nil {
		part, readable = ", a part of ", !r.format.stack
	}
	line := "wrote " + strings.Join(names, ", ") + ": " + output.FileSize(r.size) + part + what
	if readable && r.format.next != "" {
		line += "; " + strings.ReplaceAll(r.format.next, "FILE", r.path)
	}
	return line
}

// sayOTLP reports data that OTLP cannot represent.
func sayOTLP(e *env, st otlpfile.Stats) {
	for _, c := range []count{
		{st.Malformed, "otlp_metrics records are no requests of OTLP, and missing"},
		{st.TooLong, "log records, spans or metrics are too long for a line, and missing"},
		{st.OrphanLinks, "links are missing, whose span was not recorded or has not ended, or that were above 512 KiB of one span"},
		{st.OrphanExemplars, "exemplars of points that were not recorded are missing"},
		{st.OrphanEvents, "events of spans are log records: their span was not recorded or has not ended, or they were above 512 KiB of one span"},
	} {
		if c.n > 0 {
			e.say("! %s %s", output.Count(c.n), c.what)
		}
	}
}
