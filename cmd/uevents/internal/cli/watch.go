package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/reader"
)

// withoutTerminal limits the time of a command that reads records and whose output is not a terminal, since a forgotten
// one would go unnoticed.
const withoutTerminal = 10 * time.Minute

// sayEndedByItself says why the command ends if ctx is done because withoutTerminal has passed.
func (e *env) sayEndedByItself(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.say("ended after %s, as standard output is no terminal: --duration 0 lets it go on", withoutTerminal)
	}
}

// terminalRate is the limit of records that a terminal shows each second.
const terminalRate = 1000

type watchFlags struct {
	selection
	format   string
	time     string
	fields   []string
	grep     string
	count    uint64
	duration time.Duration
	byItself bool // the duration is withoutTerminal, which was not asked for
	maxRate  int
	strict   bool
	stack    bool
}

func newWatchCommand(e *env) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch PATTERN...",
		Short: "Show records as programs write them",
		Long: `Attaches to the events that match, also to those that appear later, and shows their
records until it is interrupted. Programs are not restarted and not configured. When
it ends, however it ends, they are as before.

` + patternsHelp + `

What happens besides goes to standard error: events that appear (+) and end (-), and
records that were lost (!) because they came faster than they were read, at most once a
second. The summary at the end counts every record.

Formats (-o):
  text        a line for each record; the default
  json        a JSON object on a line for each record: see uevents help json
  raw         the bytes of the record in hexadecimal
  '{{.time}} {{.message}}'    a template, see https://pkg.go.dev/text/template

The names that templates and -f take are those of the JSON objects (see uevents help json)
and of the fields of events.`,
		Example: `  uevents watch myapp --level debug
  uevents watch 'myapp_http_*' --filter 'status >= 500' -f time,route,status
  uevents watch '*_error' -o json | jq .message
  uevents watch myapp --pid 812 --grep 'user [0-9]+' -n 10
  uevents watch '*_error' --stack`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("duration") {
				if _, ok := e.terminal(e.out); !ok {
					f.duration, f.byItself = withoutTerminal, true
				}
			}
			return e.watch(cmd.Context(), &f, args)
		},
	}
	f.addEvents(e, cmd)
	f.addRecords(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.format, "output", "o", "text", "output `FORMAT`: text, json, raw or a template")
	flags.StringVar(&f.time, "time", "local", "`WAY` to write times in text: local, utc, delta (since the record before) or mono (since the machine started)")
	flags.StringSliceVarP(&f.fields, "fields", "f", nil, "show only these `FIELDS`, such as time,message,status")
	flags.StringVar(&f.grep, "grep", "", "show only records whose line of text matches the regular expression `RE`")
	flags.Uint64VarP(&f.count, "count", "n", 0, "end after `N` records")
	flags.DurationVar(&f.duration, "duration", 0, fmt.Sprintf("end after this `TIME`; 0 means never (default %s if standard output is no terminal)", withoutTerminal))
	flags.IntVar(&f.maxRate, "max-rate", 0, fmt.Sprintf("show at most `N` records a second (default %d on a terminal)", terminalRate))
	flags.BoolVar(&f.stack, "stack", false, "show the functions below each record, from the one that logged; costs the program more")
	flags.BoolVar(&f.strict, "strict", false, "exit with code 5 if records were lost")
	completeFlag(cmd, "output", "text", "json", "raw")
	completeFlag(cmd, "time", "local", "utc", "delta", "mono")
	completeFlag(cmd, "fields", output.ColumnNames()...)
	return cmd
}

// watcher shows records.
type watcher struct {
	e      *env
	live   live
	out    *bufio.Writer
	writer output.Writer
	notes  notes
	grep   *grep

	limit     uint64 // of records; 0 means none
	maxRate   int    // 0 means no limit
	second    int64  // second that rate counts
	rate      int
	shown     uint64
	unmatched uint64 // excluded by grep
	beyond    uint64 // excluded by the rate or the limit
	said      uint64 // of beyond, the number already reported
}

// watch runs the command.
func (e *env) watch(ctx context.Context, f *watchFlags, patterns []string) error {
	w, o, err := e.newWatcher(f, patterns)
	if err != nil {
		return err
	}
	dir, err := e.dir()
	if err != nil {
		return err
	}
	began := e.now()
	if w.live, err = e.open(dir, o); err != nil {
		return hintForOpen(err)
	}
	st, err := w.live.Stats()
	if err == nil {
		w.notes.opened(&st, e.now().Sub(began))
		err = w.run(ctx, f)
	}
	if err == nil {
		st, err = w.live.Stats()
	}
	if err == nil {
		w.summary(&st, e.now().Sub(began))
		if total := st.Total(); f.strict && total.Lost > 0 {
			err = silentError{errLost}
		}
	}
	return errors.Join(err, w.live.Close())
}

// newWatcher returns the watcher of the command line. Errors are usage errors.
func (e *env) newWatcher(f *watchFlags, patterns []string) (*watcher, *reader.Options, error) {
	o, err := f.options(patterns)
	if err != nil {
		return nil, nil, err
	}
	_, terminal := e.terminal(e.out)
	w := &watcher{e: e, out: bufio.NewWriterSize(e.out, 64<<10), limit: f.count, maxRate: f.maxRate}
	if w.maxRate < 0 || f.duration < 0 {
		return nil, nil, usageError{errors.New("--max-rate and --duration cannot be negative")}
	}
	if terminal && w.maxRate == 0 {
		w.maxRate = terminalRate
	}
	options := output.Options{Color: e.colored(), Fields: f.fields}
	if f.stack {
		o.Callchain, options.Stack = true, symbols.New()
		o.Latency = 10 * time.Millisecond // the functions of a process cannot be read after its exit
	}
	options.Time, err = output.ParseTime(f.time)
	if err == nil {
		w.writer, err = output.New(f.format, w.out, options)
	}
	if err != nil {
		return nil, nil, usageError{err}
	}
	if f.grep != "" {
		if w.grep, err = newGrep(f.grep); err != nil {
			return nil, nil, usageError{err}
		}
	}
	w.notes = notes{w: e.err, buffer: o.BufferSize, release: f.release}
	o.Notify = w.notice
	return w, o, nil
}

// run shows records until ctx is done, the duration is over, or the requested number is shown. Then it stops recording
// and shows the rest.
func (w *watcher) run(ctx context.Context, f *watchFlags) error {
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() { stopped <- w.live.Stop() })
	defer end()
	err := w.show()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	select {
	case stopErr := <-stopped:
		err = errors.Join(err, stopErr)
	default:
	}
	err = errors.Join(err, w.writer.Close(), w.out.Flush())
	if err == nil && f.byItself {
		w.e.sayEndedByItself(ctx)
	}
	return err
}

// show shows records until there are no more. It writes when none is ready, when the buffer is full, and once a second,
// since records that come faster than they are shown are always ready.
func (w *watcher) show() error {
	var ev reader.Event
	ready := time.Unix(0, 0) // deadline that never waits
	w.live.SetDeadline(ready)
	waiting, next := false, w.e.now().Add(time.Second)
	for n := 1; ; n++ {
		if n%256 == 0 && !w.e.now().Before(next) {
			next = w.e.now().Add(time.Second)
			if err := w.flush(); err != nil {
				return err
			}
		}
		err := w.live.Next(&ev)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := w.flush(); err != nil {
				return err
			}
			waiting = true
			w.live.SetDeadline(time.Now().Add(time.Second))
			continue
		case err != nil:
			return err
		}
		if waiting {
			waiting = false
			w.live.SetDeadline(ready)
		}
		if err := w.event(&ev); err != nil {
			return err
		}
	}
}

// event shows a record within the rate and the limit.
func (w *watcher) event(ev *reader.Event) error {
	if w.grep != nil && !w.grep.matches(ev) {
		w.unmatched++
		return nil
	}
	if w.limit > 0 && w.shown == w.limit {
		w.beyond++
		w.said++ // the user requested it with -n
		return nil
	}
	if w.maxRate > 0 {
		if second := ev.Time.Unix(); second != w.second {
			w.second, w.rate = second, 0
			w.sayBeyond()
		}
		if w.rate++; w.rate > w.maxRate {
			w.beyond++
			return nil
		}
	}
	if err := w.writer.Write(ev); err != nil {
		return err
	}
	if w.shown++; w.shown == w.limit {
		return w.live.Stop()
	}
	return nil
}

// sayBeyond reports records that the rate excluded.
func (w *watcher) sayBeyond() {
	if n := w.beyond - w.said; n > 0 {
		w.said = w.beyond
		w.notes.add("! %s records not shown: more than %s a second (--max-rate)", output.Count(n), output.Count(uint64(w.maxRate)))
	}
}

// flush writes the buffer, and then the notes.
func (w *watcher) flush() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	w.notes.flush()
	return nil
}

func (w *watcher) notice(n reader.Notice) {
	w.notes.notice(n)
	if n.Kind == reader.NoticeLost {
		if err := w.writer.Lost(n.Event, n.Count, n.Time); err != nil {
			w.notes.add("! %s", text.Printable(err.Error()))
		}
	}
}

// summary counts every record: matched = shown + lost + ...
func (w *watcher) summary(st *reader.Stats, elapsed time.Duration) {
	w.sayBeyond()
	w.notes.flush()
	w.e.say("%s", countLine(st, output.Count(w.shown)+" shown", elapsed, count{w.beyond, "not shown"}, count{w.unmatched, "without a match for --grep"}))
	if st.Undecodable > 0 {
		fmt.Fprintf(w.e.err, "! %s records were not as their event's format says: see -o raw\n", output.Count(st.Undecodable))
	}
}

// grep selects records by their line of text.
type grep struct {
	re     *regexp.Regexp
	line   bytes.Buffer
	writer output.Writer
}

func newGrep(expr string) (*grep, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	g := &grep{re: re}
	g.writer, err = output.New("text", &g.line, output.Options{})
	return g, err
}

func (g *grep) matches(ev *reader.Event) bool {
	g.line.Reset()
	_ = g.writer.Write(ev) // writing to memory does not fail
	return g.re.Match(g.line.Bytes())
}
