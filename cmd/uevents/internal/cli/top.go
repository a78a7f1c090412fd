package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/workload"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

type topFlags struct {
	selection
	timeLimit
	by, format string
	interval   time.Duration
	rows       int
}

func newTopCommand(e *env) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top [PATTERN...]",
		Short: "Count records by event, program, unit, container or pod",
		Long: `Counts the records of the events that match, by default all user events, and shows how
many there are a second, the most frequent first.

By event, records are counted and not copied, which costs the programs less than watching
them. With another --by, and with --pid or a condition, uevents reads the records to see
which process wrote each: programs pay for them as for those of watch, and records that come
faster than they are read are lost, which it reports (--buffer and --strict are for these). For programs that use shared memory both cost the same.

A declared record is counted for its event and for that of its level, if both match: twice in
a row of its program, unlike by watch and record, which decode records. Events and programs
that have ended keep their rows. Names of containers and pods come from the files of the
kubelet, docker, podman and CRI-O.

` + patternsHelp + `

On a terminal the table is drawn again and again; otherwise there is a table for each
interval, or with -o json an object for each row and interval.`,
		Example: `  uevents top
  uevents top --by program
  uevents top myapp --interval 5s
  uevents top -o json --duration 10s | jq -s 'max_by(.rate)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.choose(e, cmd)
			return e.top(cmd.Context(), &f, args)
		},
	}
	f.addEvents(e, cmd)
	f.addRecords(e, cmd)
	f.addDuration(cmd)
	outputFlag(cmd, &f.format, "text", "json")
	flags := cmd.Flags()
	flags.Var(newChoice(&f.by, topKeys...), "by", "a row for each `KEY`: "+strings.Join(topKeys, ", "))
	completeFlag(cmd, "by", topKeys...)
	flags.DurationVar(&f.interval, "interval", time.Second, "`TIME` between two tables")
	flags.IntVar(&f.rows, "rows", 20, "show at most `N` rows; 0 means all")
	return cmd
}

type hits struct {
	Time time.Time `json:"time"`
	topRow

	Name    string  `json:"name,omitempty"` // of a container or pod, where a file has it
	Rate    float64 `json:"rate"`           // records a second
	Records uint64  `json:"records"`
	Total   uint64  `json:"total"` // since the event was attached
}

func (e *env) top(ctx context.Context, f *topFlags, patterns []string) error {
	o, err := f.options(patterns)
	if err != nil {
		return err
	}
	if f.interval <= 0 || f.duration < 0 || f.rows < 0 {
		return usageError{errors.New("--interval must be positive, and --duration and --rows cannot be negative")}
	}
	if err := e.prepare(o, patterns, nil); err != nil {
		return err
	}
	c := &topCounter{session: e.newSession(&f.selection, o), f: f, reads: f.by != topByEvent || len(o.Processes) > 0 || o.Where != nil, all: counts{}}
	c.names, c.workloads = missingNames{}, workloadNames{root: "/"}
	o.Notify = func(notice reader.Notice) {
		if notice.Kind != reader.NoticeLost || c.reads { // records that are only counted are not lost
			c.notes.notice(notice)
		}
	}
	if o.Read = reader.ReadCounts; c.reads {
		o.Read = reader.ReadStream
	}
	st, err := c.open(o, &tailFlags{}, f.duration)
	if err != nil {
		return err
	}
	if r, live := c.source.(*reader.Reader); live && c.reads && o.Where == nil { // else the original decides
		c.source = withCopies{r}
	}
	f.sayLimit(e)
	f.sayAbsent(e)
	if len(st.Events) == 0 && st.NeverMatch > 0 {
		e.say("! %s", never(&st))
	} else {
		e.sayUnmatched(patterns, namesOf(st.Events), !f.noFollow)
	}
	ctx, cancel := endAfter(ctx, f.duration)
	defer cancel()
	c.handle, c.tick, c.every, c.last = c.count, c.table, f.interval, e.now()
	if err = c.until(ctx, nil); err == nil {
		c.final = true
		err = c.table()
	}
	c.notes.flush()
	if err == nil {
		f.sayEnded(ctx, e)
	}
	st, statsErr := c.counts()
	err = errors.Join(err, statsErr, c.end())
	if c.reads {
		err = errors.Join(err, f.lossError(&st))
	}
	return err
}

// topCounter counts records by row: those that it reads, or those of events, which the kernel or the programs count themselves. The kernel
// could count by process, too, in histograms: by thread, in a trace instance for which it takes root, and for events that are there at the
// start.
type topCounter struct {
	session

	f         *topFlags
	reads     bool
	all       counts // of all records that were read, or of events before their last program ended: these begin again at 0 with the next one
	latest    counts // of the events that programs have
	before    counts // of the previous table
	last      time.Time
	shown     bool   // there was a table
	final     bool   // no interval follows
	said      string // of CPUs
	workloads workloadNames
}

// withCopies also returns the copies of declared records, which programs write, too.
type withCopies struct{ *reader.Reader }

func (w withCopies) Next(rec *record.Record) error {
	for u := (reader.Undecoded{}); ; {
		raw, err := w.NextUndecoded(&u)
		if err != nil {
			return err
		}
		if selected, isCopy := u.Decode(raw, rec); selected || isCopy {
			return nil
		}
	}
}

func (c *topCounter) count(ev *record.Record) error {
	c.all[rowOf(ev, c.f.by)]++
	return nil
}

// table shows the counts of an interval. The final one, of a part of an interval, is omitted if it has no records and there was one before.
func (c *topCounter) table() error {
	st, err := c.source.Stats()
	if err != nil {
		return err
	}
	now, lost := c.e.now(), uint64(0)
	var all counts
	if c.reads {
		all, lost = c.recordCounts(), st.Total.Lost
	} else {
		all = c.eventCounts(&st)
	}
	list := hitsOf(all, c.before, now, now.Sub(c.last))
	if c.final && c.shown && !slices.ContainsFunc(list, func(h hits) bool { return h.Records > 0 }) {
		return nil
	}
	c.before, c.last, c.shown = all, now, true
	if st.CPUErr != nil && st.CPUErr.Error() != c.said {
		c.said = st.CPUErr.Error()
		c.notes.add("! records of a CPU that came online are not counted: %s", text.Printable(c.said))
	}
	if _, terminal := c.e.terminal(c.e.out); !terminal {
		c.notes.flush()
	}
	c.workloads.add(list, now)
	return c.e.showHits(c.f, list, lost)
}

// hitsOf returns the counts of all rows, the most frequent first.
func hitsOf(all, before counts, now time.Time, elapsed time.Duration) (list []hits) {
	for row, n := range all {
		h := hits{Time: now.UTC(), topRow: row, Records: n - min(n, before[row]), Total: n}
		if elapsed > 0 {
			h.Rate = float64(h.Records) / elapsed.Seconds()
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b hits) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total), a.compare(b.topRow))
	})
	return list
}

// showHits writes the counts of an interval, on a terminal as many as there is room for. lost records are in none.
func (e *env) showHits(f *topFlags, list []hits, lost uint64) error {
	if f.format == "json" {
		for _, h := range list {
			if err := writeJSONLine(e.out, h); err != nil {
				return err
			}
		}
		return nil
	}
	size, terminal := e.terminal(e.out) // which can be resized at any time
	shown := list
	if f.rows > 0 && len(shown) > f.rows {
		shown = shown[:f.rows]
	}
	const others = 3 // the header, the sum and the line of the cursor
	if room := max(1, size.lines-others); terminal && len(shown) > room {
		shown = shown[:room]
	}
	table := output.Table{Header: []string{strings.ToUpper(f.by), "RATE/S", "TOTAL"}, Right: map[int]bool{1: true, 2: true}, Width: size.columns}
	for _, h := range shown {
		table.Add(cmp.Or(h.Name, h.label(), "-"), output.Count(uint64(h.Rate+0.5)), output.Count(h.Total))
	}
	var b strings.Builder
	b.WriteString(table.String())
	var rate float64
	var total uint64
	for _, h := range list {
		rate += h.Rate
		total += h.Total
	}
	fmt.Fprintf(&b, "%s, %s records a second, %s in total", output.Plural(len(list), f.by), output.Count(uint64(rate+0.5)), output.Count(total))
	if lost > 0 {
		fmt.Fprintf(&b, "; ! %s lost", output.Count(lost))
	}
	if hidden := len(list) - len(shown); hidden > 0 && len(shown) == f.rows {
		fmt.Fprintf(&b, "; %d not shown: --rows 0", hidden)
	}
	b.WriteByte('\n')
	screen := b.String()
	if terminal {
		screen = output.ClearScreen + output.Cut(screen, size.columns)
	}
	_, err := fmt.Fprint(e.out, screen)
	return err
}

// topKeys are the values of --by. The first one needs no records to be read.
var topKeys = []string{topByEvent, "program", "process", "unit", "container", "pod"}

const topByEvent = "event"

// topRow is what the records of a row have in common. Members are empty if they are unknown, and if rows are not told apart by them.
type topRow struct {
	Event       string `json:"event,omitempty"` // SYSTEM:NAME
	Program     string `json:"program,omitempty"`
	PID         int32  `json:"pid,omitempty"`
	Unit        string `json:"unit,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
	PodUID      string `json:"pod_uid,omitempty"`
}

func rowOf(ev *record.Record, by string) (row topRow) {
	p := cmp.Or(ev.Process, &record.Process{})
	switch by {
	case topByEvent:
		row.Event = ev.System + ":" + ev.Name
	case "program":
		row.Program = p.Program()
	case "process":
		row.Program, row.PID = p.Program(), ev.PID
	case "unit":
		row.Unit = p.Unit
	case "container":
		row.ContainerID = p.ContainerID
	case "pod":
		row.PodUID = p.PodUID
	}
	return row
}

// label returns the first cell of the row.
func (r *topRow) label() string {
	if r.PID > 0 {
		return fmt.Sprintf("%s[%d]", r.Program, r.PID)
	}
	return cmp.Or(shortName(r.Event), r.Program, r.Unit, r.ContainerID[:min(12, len(r.ContainerID))], r.PodUID)
}

func (r *topRow) compare(s topRow) int {
	return cmp.Or(
		cmp.Compare(r.Event, s.Event), cmp.Compare(r.Program, s.Program), cmp.Compare(r.PID, s.PID),
		cmp.Compare(r.Unit, s.Unit), cmp.Compare(r.ContainerID, s.ContainerID), cmp.Compare(r.PodUID, s.PodUID),
	)
}

type counts map[topRow]uint64

// eventCounts returns the counts of events, also of those that have ended.
func (c *topCounter) eventCounts(st *reader.Stats) counts {
	latest := counts{}
	for _, s := range st.Events {
		latest[topRow{Event: s.Name}] += s.Matched
	}
	for row, n := range c.latest {
		if now, there := latest[row]; there && now < n || !there && len(c.all) < maxTopRows {
			c.all[row] += n
		}
	}
	c.latest = latest
	all := maps.Clone(c.all)
	for row, n := range latest {
		all[row] += n
	}
	return all
}

// maxTopRows is how many rows are kept that have no records in an interval, such as those of events and processes that have ended.
const maxTopRows = 10_000

// recordCounts returns the counts of the records that were read, and forgets rows without new ones if there are very many.
func (c *topCounter) recordCounts() counts {
	all := maps.Clone(c.all)
	if len(all) > maxTopRows {
		maps.DeleteFunc(c.all, func(row topRow, n uint64) bool { return n == c.before[row] })
	}
	return all
}

type workloadNames struct {
	root  string            // of the machine's files
	names map[string]string // by id and uid
	read  time.Time
}

const namesInterval = 10 * time.Second

func (w *workloadNames) add(list []hits, now time.Time) {
	for i := range list {
		h := &list[i]
		id := cmp.Or(h.ContainerID, h.PodUID)
		if id == "" {
			continue
		}
		if w.names[id] == "" && (w.read.IsZero() || now.Sub(w.read) >= namesInterval) {
			w.read = now
			w.look()
		}
		h.Name = w.names[id]
	}
}

func (w *workloadNames) look() {
	s := workload.Read(w.root)
	w.names = map[string]string{}
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Name != "" {
			w.names[c.ID] = c.String()
		}
	}
	for _, p := range s.Pods {
		w.names[p.UID] = p.Namespace + "/" + p.Name
	}
}
