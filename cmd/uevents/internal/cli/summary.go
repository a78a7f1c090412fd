package cli

import (
	"slices"
	"strings"

	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

type count struct {
	n    uint64
	what string
}

// sayCounts accounts for every record: matched = done + lost + ...
func (s *session) sayCounts(st *reader.Stats, done string, others ...count) {
	total := &st.Total
	list := slices.Concat([]count{{total.Lost, "lost"}}, heldBack(s.names.tail), others, []count{
		{st.Unselected, "not selected"}, {st.Copies, "in two events"}, {total.Excluded, "of other processes"}, {total.Pending, "not read"},
	})
	parts := append([]string{done}, texts(list)...)
	s.e.say("%s matched = %s; %.1f s%s", output.Count(total.Matched), strings.Join(parts, " + "), s.e.now().Sub(s.began).Seconds(), gaps(st))
}

// texts returns the counts that are not 0.
func texts(list []count) (parts []string) {
	for _, c := range list {
		if c.n > 0 {
			parts = append(parts, output.Count(c.n)+" "+c.what)
		}
	}
	return parts
}

// sayUndecodable says how many records have no fields.
func (e *env) sayUndecodable(st *reader.Stats, remedy string) {
	if st.Undecodable > 0 {
		e.say("! %s records were not as their event's format says: %s", output.Count(st.Undecodable), remedy)
	}
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

// sayOTLP reports data that OTLP cannot represent, if it was written as OTLP.
func (e *env) sayOTLP(to output.Writer) {
	w, ok := to.(*otlpfile.Writer)
	if !ok {
		return
	}
	st := w.Stats()
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
