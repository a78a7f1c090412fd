package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// histFlags are the flags of hist.
type histFlags struct {
	by, sum, filter, format string
	duration                time.Duration
	rows                    int
	log2                    bool
}

func newHistCommand(e *env) *cobra.Command {
	var f histFlags
	cmd := &cobra.Command{
		Use:   "hist NAME --by FIELD",
		Short: "Count the records of an event by a field, in the kernel",
		Long: `Counts the records of an event by the values of a field, and sums up another one. The
kernel does it, in a trace instance of uevents' own: no record is copied, and no program
waits for a reader. Where the kernel cannot, such as for events in shared memory, or this
user may not make instances, uevents reads the records and counts them itself, and says so.
It then knows attributes, too, which are no fields of their own.

With --log2, the rows are ranges up to powers of two: the distribution of a number that has
many values, such as a latency.

Instances whose uevents was killed are removed at the next start.`,
		Example: `  uevents hist myapp_http_request --by route --sum latency_ns
  uevents hist myapp_http_request --by status --filter 'status >= 400' --duration 1m
  uevents hist myapp_http_request --by latency_ns --log2`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: e.completeEvents,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.duration <= 0 || f.rows < 0:
				return usageError{errors.New("--duration must be positive, and --rows cannot be negative")}
			case f.by == "":
				return usageError{errors.New("--by is empty: see the fields with uevents show " + args[0])}
			}
			subject, err := e.histSubject(args[0])
			if err != nil {
				return err
			}
			if f.sum != "" && !subject.summable(f.sum) {
				return usageError{fmt.Errorf("--sum %s: the field has no numbers, see uevents show %s", f.sum, args[0])}
			}
			if f.log2 && !subject.summable(f.by) {
				return usageError{fmt.Errorf("--log2: the field %s has no numbers, see uevents show %s", f.by, args[0])}
			}
			if f.sum != "" && stateEvent.MatchString(subject.name) {
				e.say("! %s has states: what is added up over several exports has no meaning, its mean has", text.Printable(subject.name))
			}
			if _, ok := e.terminal(e.err); ok {
				e.say("counting for %s; Ctrl-C ends it before", f.duration)
			}
			h, err := e.countBy(cmd.Context(), subject, &f)
			if err != nil {
				return err
			}
			if f.format == "json" {
				return writeJSON(e.out, h)
			}
			return e.printHistogram(h, f.rows)
		},
	}
	outputFlag(cmd, &f.format, "text", "json")
	flags := cmd.Flags()
	flags.StringVar(&f.by, "by", "", "`FIELD` whose values are told apart")
	flags.BoolVar(&f.log2, "log2", false, "tell apart ranges up to powers of two, not values")
	flags.StringVar(&f.sum, "sum", "", "number `FIELD` to sum up; names that end in _ns are times")
	flags.StringVar(&f.filter, "filter", "", "count only what meets a `CONDITION` on fields, such as 'status >= 500'")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "count for this `TIME`, or until Ctrl-C")
	flags.IntVar(&f.rows, "rows", 20, "show at most `N` values; 0 means all")
	if err := cmd.MarkFlagRequired("by"); err != nil {
		panic(err) // no such flag
	}
	for _, name := range []string{"by", "sum"} {
		if err := cmd.RegisterFlagCompletionFunc(name, e.completeFields); err != nil {
			panic(err) // no such flag
		}
	}
	return cmd
}

// stateEvent matches the events of data points that have a state at the time of the export, and not what was added since the last.
var stateEvent = regexp.MustCompile(`_metric_(gauge|summary|updown_sum|cumulative_\w+)$`)

// histogram is the result of hist.
type histogram struct {
	Event   string    `json:"event"`
	By      string    `json:"by"`
	Sum     string    `json:"sum,omitempty"`
	Counted string    `json:"counted"`          // "in-kernel" or "in uevents"
	Reason  string    `json:"reason,omitempty"` // reason for not counting in the kernel
	Seconds float64   `json:"seconds"`
	Rows    []histRow `json:"rows"`    // the most frequent first; with --log2 the least first
	Dropped uint64    `json:"dropped"` // records without a row: the kernel's table was full, or the kernel lost them

	signed bool // the field to sum up can be negative
}

// histRow is the count of one value.
type histRow struct {
	Key  string  `json:"key"` // printable
	Hits uint64  `json:"hits"`
	Sum  float64 `json:"sum"`
}

// histSubject is the event that hist counts.
type histSubject struct {
	name    string       // SYSTEM:NAME
	dir     *tracefs.Dir // nil if the kernel does not have it
	formats []tracepoint.Format
	memory  bool // programs have it in shared memory
}

// histSubject finds an event.
func (e *env) histSubject(name string) (*histSubject, error) {
	found, err := e.find(name)
	if err != nil {
		return nil, err
	}
	s := &histSubject{name: found[0].system + ":" + found[0].name}
	for _, ev := range found {
		s.formats = append(s.formats, ev.format)
		if ev.transport() == uevents.TransportMemory {
			s.memory = true
		} else if s.dir, err = e.dir(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// countBy counts in the kernel if possible, or else in this process.
func (e *env) countBy(ctx context.Context, s *histSubject, f *histFlags) (h *histogram, err error) {
	h = &histogram{Event: s.name, By: f.by, Sum: f.sum, Counted: "in-kernel"}
	reason := "it is in shared memory"
	if !s.memory {
		reason, err = h.inKernel(ctx, s.dir, s.dir.Event(s.name), s.formats[0], f)
	}
	if err == nil && reason != "" {
		h.Counted, h.Reason = "in uevents", reason
		err = e.inUevents(ctx, h, s, f)
	}
	if err == nil && f.log2 {
		return h, h.ranges(f)
	}
	slices.SortFunc(h.Rows, func(a, b histRow) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), compareKeys(a.Key, b.Key))
	})
	return h, err
}

// compareKeys orders numbers by value, and other keys as texts.
func compareKeys(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// summable reports whether a field is a number. Attributes, which are no fields of the event, may be one. The kernel adds up
// the locations of texts.
func (s *histSubject) summable(name string) bool {
	return !slices.ContainsFunc(s.formats, func(format tracepoint.Format) bool {
		i := slices.IndexFunc(format.Fields, func(f tracepoint.FormatField) bool { return f.Name == name })
		return i >= 0 && !slices.Contains(operators(format.Fields[i].Type, true), "<")
	})
}

// printHistogram prints a histogram as text.
func (e *env) printHistogram(h *histogram, rows int) error {
	shown := h.Rows
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	table := output.Table{Header: []string{strings.ToUpper(h.By), "HITS"}, Right: map[int]bool{1: true, 2: true, 3: true}}
	if h.Sum != "" {
		table.Header = append(table.Header, "MEAN", "TOTAL")
	}
	table.Header = append(table.Header, fmt.Sprintf("%s, %.1f s", h.Counted, h.Seconds))
	most := uint64(1) // hits of a row
	for _, r := range h.Rows {
		most = max(most, r.Hits)
	}
	for _, r := range shown {
		cells := []any{r.Key, output.Count(r.Hits)}
		if h.Sum != "" {
			cells = append(cells, amount(h.Sum, r.Sum/float64(max(1, r.Hits))), amount(h.Sum, r.Sum))
		}
		table.Add(append(cells, strings.Repeat("#", int(1+19*r.Hits/most)))...)
	}
	if h.Sum == "" {
		delete(table.Right, 2)
		delete(table.Right, 3)
	}
	if _, err := table.WriteTo(e.out); err != nil {
		return err
	}
	if n := len(h.Rows) - len(shown); n > 0 {
		fmt.Fprintf(e.out, "%s not shown: --rows 0\n", output.Plural(n, "more value"))
	}
	if h.Reason != "" {
		fmt.Fprintf(e.err, "counted here, not in the kernel: %s\n", text.Printable(h.Reason))
	}
	if h.Dropped > 0 {
		fmt.Fprintf(e.err, "! %s records are in no row: the table was full, or they were lost\n", output.Count(h.Dropped))
	}
	return nil
}

// amount formats a sum as text.
func amount(field string, v float64) string {
	if !strings.HasSuffix(field, "_ns") {
		return fmt.Sprintf("%.4g", v)
	}
	d := time.Duration(math.MaxInt64)
	if v < math.MaxInt64 { // as a float64 it is one more, and no time
		d = time.Duration(v)
	}
	return string(output.AppendDuration(nil, d))
}

// completeFields makes the shell complete the fields of the event on the command line.
func (e *env) completeFields(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		found, _ := e.find(args[0])
		for _, ev := range found {
			for _, f := range ev.format.Fields {
				names = append(names, text.Printable(f.Name))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
