package cli

import (
	"cmp"
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

// limitFlag is the flag --limit of a command that shows or writes records. Those that count have none: they would count too few.
type limitFlag struct{ limit string }

// limitHelp is the part on it in the help of commands.
const limitHelp = `--limit 5000/s bounds what programs pay: of each event, they make at most so many records a
second. In shared memory each program stops by itself; of the kernel's events, uevents detaches
for the rest of the second once it has read as many, of all programs together. It says for how
many seconds records are missing, which no count has. It comes before --when.`

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
