package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

type histFlags struct {
	conditionFlags
	tail tailFlags

	by                []string
	sum, format       string
	duration          time.Duration
	rows              int
	log2, percentiles bool
	condition         *where.Condition
}

func newHistCommand(e *env) *cobra.Command {
	var f histFlags
	cmd := &cobra.Command{
		Use:   "hist NAME --by FIELD",
		Short: "Count the records of an event by a field, in the kernel",
		Long: `Counts the records of an event by the values of one or two fields, and sums up another one.
The kernel does it, in a trace instance of uevents' own: no record is copied, and no program
waits for a reader. Where the kernel cannot, such as for attributes, events in shared memory
or percentiles, uevents reads the records and counts them itself, and says so. FIELD is a
name as of --where.

` + conditionHelp + `

With --log2, the rows are ranges up to powers of two: the distribution of a number that has
many values, such as a latency.

--when counts only records of traces in which there is such a record, of any program: it reads
all user events (see uevents watch --help).

Instances whose uevents was killed are removed at the next start.`,
		Example: `  uevents hist myapp_http_request --by route --sum latency_ns
  uevents hist myapp_http_request --by route,status --where 'status >= 400' --duration 1m
  uevents hist myapp_span --by name --sum duration --percentiles
  uevents hist myapp_http_request --by latency_ns --log2
  uevents hist myapp_sql --by table --when 'level >= error'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: e.completeEvents(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.duration <= 0 || f.rows < 0:
				return usageError{errors.New("--duration must be positive, and --rows cannot be negative")}
			case len(f.by) == 0 || slices.Contains(f.by, ""):
				return usageError{errors.New("--by is empty: see the fields with uevents show " + args[0])}
			case len(f.by) > 2 || f.log2 && len(f.by) > 1:
				return usageError{errors.New("--by takes two fields, and with --log2 one")}
			case f.percentiles && (f.sum == "" || f.log2):
				return usageError{errors.New("--percentiles are of the numbers of --sum, and not with --log2")}
			}
			var err error
			if f.condition, err = f.conditionFlags.condition(); err != nil {
				return err
			}
			if err := f.tail.parse(); err != nil {
				return err
			}
			subject, err := e.histSubject(args[0])
			if err != nil {
				return err
			}
			if f.sum != "" && stateEvent.MatchString(subject.name) {
				e.say("! %s has states: what is added up over several exports has no meaning, its mean has", text.Printable(subject.name))
			}
			f.sayAbsent(e)
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
	f.addConditions(e, cmd)
	f.tail.add(cmd, "64M")
	flags.StringSliceVar(&f.by, "by", nil, "`FIELD`, or two with a comma, whose values are told apart")
	flags.BoolVar(&f.log2, "log2", false, "tell apart ranges up to powers of two, not values")
	flags.StringVar(&f.sum, "sum", "", "number `FIELD` to sum up; names that end in _ns are times")
	flags.BoolVar(&f.percentiles, "percentiles", false, "show percentiles of the numbers of --sum, too, within 1.6 %")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "count for this `TIME`, or until Ctrl-C")
	flags.IntVar(&f.rows, "rows", 20, "show at most `N` values; 0 means all")
	if err := cmd.MarkFlagRequired("by"); err != nil {
		panic(err) // no such flag
	}
	for _, name := range []string{"by", "sum"} {
		completeFlagWith(cmd, name, e.completeFields)
	}
	return cmd
}

// stateEvent matches the events of data points that have a state at the time of the export, and not what was added since the last.
var stateEvent = regexp.MustCompile(`_metric_(gauge|summary|updown_sum|cumulative_\w+)$`)

type histogram struct {
	Event   string    `json:"event"`
	By      []string  `json:"by"`
	Sum     string    `json:"sum,omitempty"`
	Counted string    `json:"counted"`          // "in-kernel" or "in uevents"
	Reason  string    `json:"reason,omitempty"` // reason for not counting in the kernel
	Seconds float64   `json:"seconds"`
	Rows    []histRow `json:"rows"`    // the most frequent first; with --log2 the least first
	Dropped uint64    `json:"dropped"` // records without a row: the kernel's table was full, or the kernel lost them

	Without  uint64 `json:"without,omitempty"`  // records without a row: they lack the fields of By, or with --log2 its number
	Unsummed uint64 `json:"unsummed,omitempty"` // records in rows that lack the number Sum

	// Unselected records were read, and do not meet the condition. Those that the kernel dropped are not counted.
	Unselected uint64 `json:"unselected,omitempty"`

	log2      bool
	condition bool // there is one
}

type histRow struct {
	Keys        []string     `json:"keys"` // printable; of two, one is "" where records lack it
	Hits        uint64       `json:"hits"`
	Sum         float64      `json:"sum"`
	Numbers     uint64       `json:"numbers,omitempty"` // records that have the number which Sum adds up
	Percentiles *percentiles `json:"percentiles,omitempty"`

	sketch sketch
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
	if s.never(f.condition) {
		return nil, usageError{fmt.Errorf("no record of %s can meet the condition %s", s.name, f.condition)}
	}
	h = &histogram{Event: s.name, By: f.by, Sum: f.sum, Counted: "in-kernel", log2: f.log2, condition: f.condition != nil}
	reason := "it is in shared memory"
	if !s.memory {
		reason, err = h.inKernel(ctx, s.dir, s.dir.Event(s.name), s.formats[0], f)
	}
	if err == nil && reason != "" {
		h.Counted, h.Reason = "in uevents", reason
		err = e.inUevents(ctx, h, s, f)
	}
	if err == nil && f.log2 {
		err = h.ranges(f)
	}
	return h, err
}

// never reports whether no record of the event can meet a condition.
func (s *histSubject) never(c *where.Condition) bool {
	return c != nil && !slices.ContainsFunc(s.formats, func(format tracepoint.Format) bool {
		system, _, _ := strings.Cut(s.name, ":")
		d, err := record.NewDecoder(system, format)
		return err != nil || !c.Plan(d, true).Never
	})
}

func compareKeys(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func (e *env) printHistogram(h *histogram, rows int) error {
	shown := h.Rows
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	var table output.Table
	for _, by := range h.By {
		table.Header = append(table.Header, strings.ToUpper(text.Printable(by)))
	}
	table.Header = append(table.Header, "HITS")
	if h.Sum != "" {
		table.Header = append(table.Header, "MEAN", "TOTAL")
	}
	if slices.ContainsFunc(h.Rows, func(r histRow) bool { return r.Percentiles != nil }) {
		table.Header = append(table.Header, "P50", "P90", "P99", "MAX")
	}
	table.Right = map[int]bool{}
	for i := len(h.By); i < len(table.Header); i++ {
		table.Right[i] = true
	}
	columns := len(table.Header)
	table.Header = append(table.Header, fmt.Sprintf("%s, %.1f s", h.Counted, h.Seconds))
	most := uint64(1) // hits of a row
	for _, r := range h.Rows {
		most = max(most, r.Hits)
	}
	for _, r := range shown {
		var cells []any
		for _, key := range r.Keys {
			cells = append(cells, cmp.Or(key, "-"))
		}
		cells = append(cells, output.Count(r.Hits))
		if h.Sum != "" && r.Numbers == 0 {
			cells = append(cells, "-", "-")
		} else if h.Sum != "" {
			cells = append(cells, amount(h.Sum, r.Sum/float64(r.Numbers)), amount(h.Sum, r.Sum))
		}
		if p := r.Percentiles; p != nil {
			cells = append(cells, amount(h.Sum, p.P50), amount(h.Sum, p.P90), amount(h.Sum, p.P99), amount(h.Sum, p.Max))
		}
		for len(cells) < columns {
			cells = append(cells, "-")
		}
		table.Add(append(cells, strings.Repeat("#", int(1+19*r.Hits/most)))...)
	}
	if _, err := io.WriteString(e.out, table.String()); err != nil {
		return err
	}
	if n := len(h.Rows) - len(shown); n > 0 {
		fmt.Fprintf(e.out, "%s not shown: --rows 0\n", output.Plural(n, "more value"))
	}
	if h.Reason != "" {
		fmt.Fprintf(e.err, "counted here, not in the kernel: %s\n", text.Printable(h.Reason))
	}
	switch none := len(h.Rows) == 0 && h.Without == 0; {
	case none && h.Unselected > 0:
		e.say("! none of %s meets the condition", output.Plural(int(h.Unselected), "record"))
	case none && h.condition:
		e.say("! no record meets the condition")
	}
	if h.Without > 0 {
		number, meant := "", ""
		if h.log2 {
			number = "a number in "
		}
		if len(h.Rows) == 0 {
			meant = e.meant(nil, h.By...)
		}
		e.say("! %s without %s%s: in no row%s", output.Plural(h.Without, "record"), number, text.Printable(strings.Join(h.By, " or ")), meant)
	}
	if h.Unsummed > 0 {
		meant := ""
		if !slices.ContainsFunc(h.Rows, func(r histRow) bool { return r.Numbers > 0 }) {
			meant = e.meant(nil, h.Sum)
		}
		e.say("! %s without a number in %s: not in MEAN and TOTAL%s", output.Plural(h.Unsummed, "record"), text.Printable(h.Sum), meant)
	}
	if h.Dropped > 0 {
		fmt.Fprintf(e.err, "! %s records are in no row: the table was full, or they were lost\n", output.Count(h.Dropped))
	}
	return nil
}

// meant returns a question about names that no record has, if others are similar: parts of records, fields, or known ones in their place.
func (e *env) meant(known []string, names ...string) string {
	for _, name := range names {
		if similar := (&missingNames{e: e, fields: known}).similar(name); len(similar) > 0 {
			return "; did you mean " + text.Printable(listed(similar)) + "?"
		}
	}
	return ""
}

func amount(field string, v float64) string {
	switch {
	case strings.HasSuffix(field, "_ns") || field == "duration":
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
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
	names := where.Names()
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
