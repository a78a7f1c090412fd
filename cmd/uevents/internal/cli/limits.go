package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
)

// withoutTerminal limits the time of a command that shows records while neither its output nor its messages go to a terminal: a
// forgotten one, of a script or a lost connection, would slow programs down unnoticed. With watch | tee at a terminal there is an
// operator, who wants no end.
const withoutTerminal = 10 * time.Minute

type timeLimit struct {
	duration time.Duration
	byItself bool // the duration was not asked for on the command line
}

func (l *timeLimit) addDuration(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&l.duration, "duration", 0, fmt.Sprintf("end after this `TIME`, also if uevents hangs; 0 means never (default %s if neither standard output nor standard error is a terminal)",
		withoutTerminal))
}

// choose chooses the time if the command line does not.
func (l *timeLimit) choose(e *env, cmd *cobra.Command) {
	_, output := e.terminal(e.out)
	_, messages := e.terminal(e.err)
	if !output && !messages && !cmd.Flags().Changed("duration") {
		l.duration, l.byItself = withoutTerminal, true
	}
}

// sayLimit says at the start that the command will end at the time that it chose itself.
func (l *timeLimit) sayLimit(e *env) {
	if l.byItself {
		e.say("ends after %s, as no terminal shows it; --duration 0 lets it go on", l.duration)
	}
}

// sayEnded says why the command ends if that is the time that it chose itself.
func (l *timeLimit) sayEnded(ctx context.Context, e *env) {
	if l.byItself && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.say("! ended after %s, as no terminal shows it; --duration 0 lets it go on", l.duration)
	}
}

// endAfter returns a context that is done after a time, too; 0 means never.
func endAfter(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// limitFlag is the flag --limit of commands that show or write records. Commands that count have no limit: their counts would be too low.
type limitFlag struct{ limit string }

const limitHelp = `--limit 5000/s limits the overhead of programs: at most that many records of each event in a
second. In shared memory, each program stops by itself. From an event of the kernel, uevents
detaches for the rest of the second once it has read that many of all programs. Records above
the limit are not counted; the summary reports for how many seconds the limit applied. The
limit applies before --when.`

func (l *limitFlag) addLimit(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.limit, "limit", "", "make programs write no more records of an event in a second than this `RATE`, such as 5000/s")
}

// setLimit sets the option of the flag. Errors are usage errors.
func (l *limitFlag) setLimit(o *reader.Options) (err error) {
	if l.limit == "" {
		return nil
	}
	if o.Limit, err = parseLimit(l.limit); err != nil {
		return usageError{fmt.Errorf("--limit: %w", err)}
	}
	return nil
}

// parseLimit parses a number of records a second, such as 5000/s or 5000.
func parseLimit(s string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "/s"), 10, 64)
	if err != nil || n <= 0 || n > math.MaxUint32 {
		return 0, fmt.Errorf("%q is no number of records a second, such as 5000/s", s)
	}
	return int(n), nil
}

// limitedEvent is an event whose records are missing for a while.
type limitedEvent struct {
	name string
	d    time.Duration
}

// addLimited reports the events that have reached the limit since the last time.
func (n *notes) addLimited() {
	var list []limitedEvent
	for name, d := range n.limited {
		list = append(list, limitedEvent{name, d})
	}
	n.limited = nil
	n.add("! more than %s records a second (--limit), not recorded: %s", output.Count(uint64(n.limit)), listLimited(list))
}

// limitedText says for how long records are missing in all, for the summary.
func limitedText(st *reader.Stats) string {
	if st.Total.Limited == 0 {
		return ""
	}
	var list []limitedEvent
	rest := st.Total.Limited
	for _, s := range st.Events {
		if s.Limited > 0 {
			list = append(list, limitedEvent{text.Printable(shortName(s.Name)), s.Limited})
			rest -= s.Limited
		}
	}
	if rest > 0 { // of those that are no longer attached
		list = append(list, limitedEvent{"", rest})
	}
	return "; ! --limit, in no count: " + listLimited(list)
}

// listLimited lists events, those that miss most first.
func listLimited(list []limitedEvent) string {
	slices.SortFunc(list, func(a, b limitedEvent) int { return cmp.Or(cmp.Compare(b.d, a.d), strings.Compare(a.name, b.name)) })
	var parts []string
	for i, e := range list {
		if left := len(list) - i; i == 2 && left > 1 {
			parts = append(parts, fmt.Sprintf("%d more", left))
			break
		}
		parts = append(parts, fmt.Sprintf("%s for %.1f s", cmp.Or(e.name, "others"), max(0.1, e.d.Seconds())))
	}
	return strings.Join(parts, ", ")
}
