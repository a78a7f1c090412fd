package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
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
			if err := f.choose(e, cmd); err != nil {
				return err
			}
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

// hits is the count of a row in an interval.
type hits struct {
	Time time.Time `json:"time"`
	topRow

	Name    string  `json:"name,omitempty"` // of a container or pod, where a file has it
	Rate    float64 `json:"rate"`           // records a second
	Records uint64  `json:"records"`
	Total   uint64  `json:"total"` // since the event was attached
}

// top runs the command.
func (e *env) top(ctx context.Context, f *topFlags, patterns []string) error {
	o, err := f.options(patterns)
	if err != nil {
		return err
	}
	if f.interval <= 0 || f.duration < 0 || f.rows < 0 {
		return usageError{errors.New("--interval must be positive, and --duration and --rows cannot be negative")}
	}
	if f.explain {
		return e.explain(o)
	}
	n := notes{w: e.err, buffer: o.BufferSize, release: f.release}
	reads := f.by != topByEvent || len(o.Processes) > 0 || o.Where != nil
	o.Notify = func(notice reader.Notice) {
		if notice.Kind != reader.NoticeLost || reads {
			n.notice(notice)
		}
	}
	if o.Read = reader.ReadCounts; reads {
		o.Read, o.Decode.Mode = reader.ReadStream, reader.DecodeNone
	}
	if err := e.selectTransport(o); err != nil {
		return err
	}
	x := e.expire(f.duration)
	r, err := e.open(o)
	if err != nil {
		return errors.Join(hintForOpen(err), x.end())
	}
	x.live = r
	f.sayLimit(e)
	f.sayAbsent(e)
	if st, err := r.Stats(); err == nil && len(st.Events) == 0 && st.Never > 0 {
		e.say("! %s", never(&st))
	} else if err == nil {
		e.sayUnmatched(patterns, namesOf(st.Events), !f.noFollow)
	}
	ctx, cancel := endAfter(ctx, f.duration)
	defer cancel()
	if reads {
		c := newRecordCounter(ctx, r, f.by, f.interval)
		defer c.end()
		err = e.count(f, r, &n, c)
	} else { // nothing is lost: what is not read counts where it found no room, too
		err = e.count(f, r, &n, newEventCounter(ctx, r, f.interval))
	}
	st, statsErr := r.Stats()
	if err == nil {
		f.sayEnded(ctx, e)
	}
	err = errors.Join(err, statsErr, x.end())
	if reads {
		err = errors.Join(err, f.lossError(&st))
	}
	return err
}

// count shows the counts of each interval. At the end it shows those of the part of one, if there are records in it or no table before.
func (e *env) count(f *topFlags, r live, n *notes, c counter) error {
	defer n.flush()
	before, last := counts{}, e.now()
	names := workloadNames{root: "/"}
	said := "" // of CPUs
	for shown := false; ; shown = true {
		more, err := c.wait()
		if err != nil {
			return err
		}
		st, err := r.Stats()
		if err != nil {
			return err
		}
		now := e.now()
		all := c.counts(&st)
		list := hitsOf(all, before, now, now.Sub(last))
		if !more && shown && !slices.ContainsFunc(list, func(h hits) bool { return h.Records > 0 }) {
			return nil
		}
		before, last = all, now
		if st.CPUErr != nil && st.CPUErr.Error() != said {
			said = st.CPUErr.Error()
			n.add("! records of a CPU that came online are not counted: %s", text.Printable(said))
		}
		if _, terminal := e.terminal(e.out); !terminal {
			n.flush()
		}
		names.add(list, now)
		if err := e.showHits(f, list, c.lost(&st)); err != nil || !more {
			return err
		}
	}
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
	if _, err := table.WriteTo(&b); err != nil {
		return err
	}
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
