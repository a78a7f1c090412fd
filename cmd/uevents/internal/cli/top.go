package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/reader"
)

type topFlags struct {
	selection
	timeLimit
	format   string
	interval time.Duration
	rows     int
}

func newTopCommand(e *env) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top [PATTERN...]",
		Short: "Count records by event, without reading them",
		Long: `Counts the records of the events that match, by default all user events, and shows how
many there are a second, the most frequent events first. Records are counted and not
copied, which costs the programs less than watching them.

` + patternsHelp + `

On a terminal the table is drawn again and again; otherwise there is a table for each
interval, or with -o json an object for each event and interval.`,
		Example: `  uevents top
  uevents top myapp --interval 5s
  uevents top -o json --duration 10s | jq -s 'max_by(.rate)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.choose(e, cmd)
			return e.top(cmd.Context(), &f, args)
		},
	}
	f.addEvents(e, cmd)
	f.addDuration(cmd)
	outputFlag(cmd, &f.format, "text", "json")
	flags := cmd.Flags()
	flags.DurationVar(&f.interval, "interval", time.Second, "`TIME` between two tables")
	flags.IntVar(&f.rows, "rows", 20, "show at most `N` events; 0 means all")
	return cmd
}

// hits is the count of an event in an interval.
type hits struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // SYSTEM:NAME
	Rate    float64   `json:"rate"`  // records a second
	Records uint64    `json:"records"`
	Total   uint64    `json:"total"` // since the event was attached
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
	n := notes{w: e.err}
	o.Read = reader.ReadCounts
	o.Notify = func(notice reader.Notice) {
		if notice.Kind != reader.NoticeLost { // top reads no records, and counts those that find no room too
			n.notice(notice)
		}
	}
	dir, err := e.from(o)
	if err != nil {
		return err
	}
	r, err := e.open(dir, o)
	if err != nil {
		return hintForOpen(err)
	}
	f.sayLimit(e)
	ctx, cancel := endAfter(ctx, f.duration)
	defer cancel()
	err = e.count(ctx, f, r, &n)
	if err == nil {
		f.sayEnded(ctx, e)
	}
	return errors.Join(err, r.Close())
}

// count shows counts until ctx is done.
func (e *env) count(ctx context.Context, f *topFlags, r live, n *notes) error {
	defer n.flush()
	r.SetDeadline(time.Unix(0, 0)) // Next delivers notices without waiting
	before, last := map[string]uint64{}, e.now()
	said := "" // of CPUs
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		st, err := r.Stats()
		if err != nil {
			return err
		}
		now := e.now()
		list := hitsOf(&st, before, now, now.Sub(last))
		before, last = map[string]uint64{}, now
		for _, h := range list {
			before[h.Event] = h.Total
		}
		if err := r.Next(new(reader.Event)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if st.CPUErr != nil && st.CPUErr.Error() != said {
			said = st.CPUErr.Error()
			n.add("! records of a CPU that came online are not counted: %s", text.Printable(said))
		}
		if _, terminal := e.terminal(e.out); !terminal {
			n.flush()
		}
		if err := e.showHits(f, list); err != nil {
			return err
		}
	}
}

// hitsOf returns the counts of all events, the most frequent first.
func hitsOf(st *reader.Stats, before map[string]uint64, now time.Time, elapsed time.Duration) (list []hits) {
	counts := map[string]uint64{}
	for _, s := range st.Events {
		counts[s.Name] += s.Matched
	}
	for name, n := range counts {
		h := hits{Time: now.UTC(), Event: name, Records: n - min(n, before[name]), Total: n}
		if elapsed > 0 {
			h.Rate = float64(h.Records) / elapsed.Seconds()
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b hits) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Event, b.Event))
	})
	return list
}

// showHits writes the counts of an interval, on a terminal as many as there is room for.
func (e *env) showHits(f *topFlags, list []hits) error {
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
	table := output.Table{Header: []string{"EVENT", "RATE/S", "RECORDS"}, Right: map[int]bool{1: true, 2: true}, Width: size.columns}
	for _, h := range shown {
		table.Add(shortName(h.Event), output.Count(uint64(h.Rate+0.5)), output.Count(h.Total))
	}
	var b strings.Builder
	if _, err := table.WriteTo(&b); err != nil {
		return err
	}
	var rate float64
	for _, h := range list {
		rate += h.Rate
	}
	fmt.Fprintf(&b, "%s, %s records a second\n", output.Plural(len(list), "event"), output.Count(uint64(rate+0.5)))
	screen := b.String()
	if terminal {
		screen = output.ClearScreen + output.Cut(screen, size.columns)
	}
	_, err := fmt.Fprint(e.out, screen)
	return err
}
