package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// terminalRate is the limit of records that a terminal shows each second: of warnings and errors, and of others.
const terminalRate = 1000

type watchFlags struct {
	selection
	outputFlags
	timeLimit
	limitFlag
	tail    tailFlags
	maxRate int
	stack   bool
	explain bool
}

func newWatchCommand(e *env) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [PATTERN...] [-- COMMAND ARGS...]",
		Short: "Show records as programs write them",
		Long: `Attaches to the events that match, also to those that appear later, and shows their
records until it is interrupted. Programs are not restarted and not configured. When
it ends, however it ends, they are as before.

` + commandHelp + `

` + patternsHelp + `

` + allHelp + `

` + conditionHelp + `

` + tailHelp + `

` + limitHelp + `

What happens besides goes to standard error: events that appear (+) and end (-), and
records that were lost (!) because they came faster than they were read, at most once a
second. The summary at the end counts every record.

Formats (-o):
  text        a line for each record; the default
  json        a JSON object on a line for each record: see uevents help json
  raw         the bytes of the record in hexadecimal
  '{{.time}} {{.message}}'    a template, see https://pkg.go.dev/text/template;
                              {{index . "http.route"}} for a name with other characters

The names that templates and -f take are those of the JSON objects (see uevents help json)
and of the fields of events; GROUP.NAME is a field in a group of package slog.`,
		Example: `  uevents watch myapp --level debug
  uevents watch 'myapp_http_*' --where 'status >= 500' -f time,route,status
  uevents watch '*_error' -o json | jq .message
  uevents watch myapp --pid 812 --grep 'user [0-9]+' -n 10
  uevents watch myapp --where 'trace_id == 4bf92f35 or duration > 100ms'
  uevents watch myapp shop --when 'level >= error'
  uevents watch '*_error' --stack
  uevents watch --unit myapp --level warn
  uevents watch -- ./myapp`,
		Args: needsPattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			patterns, command := splitCommand(cmd, args)
			if len(command) == 0 {
				f.choose(e, cmd)
			}
			return e.watch(cmd.Context(), &f, patterns, command)
		},
	}
	f.addEvents(e, cmd)
	f.addRecords(e, cmd)
	f.tail.add(cmd, "64M")
	f.addOutput(cmd)
	f.addDuration(cmd)
	f.addLimit(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.maxRate, "max-rate", 0, fmt.Sprintf("show at most `N` records a second, and N warnings, errors and failed spans (default %d on a terminal)", terminalRate))
	flags.BoolVar(&f.explain, "explain", false, "say what of the condition the kernel evaluates for each event, and what uevents does, and end")
	flags.BoolVar(&f.stack, "stack", false, "show the functions below each record, from the one that logged; costs the program more")
	return cmd
}

func (e *env) watch(ctx context.Context, f *watchFlags, patterns, command []string) error {
	w, o, err := e.newWatcher(f, patterns)
	if err != nil {
		return err
	}
	if f.explain {
		return e.explain(o)
	}
	if err := e.prepare(o, patterns, command); err != nil {
		return err
	}
	st, err := w.open(o, &f.tail, f.duration)
	if err != nil {
		return err
	}
	if len(command) == 0 {
		f.sayAbsent(e)
	}
	if len(command) == 0 || len(st.Events) > 0 {
		w.notes.opened(e, &st, e.now().Sub(w.began), patterns)
		if len(command) == 0 && len(st.Events) > 0 {
			e.sayUnmatched(patterns, namesOf(st.Events), !f.noFollow)
		}
		f.sayLimit(e)
	}
	w.notes.offered = len(st.Events) > 0
	ctx, cancel := endAfter(ctx, f.duration)
	defer cancel()
	w.pipe.mayClose = len(command) > 0
	w.goesOn = func(error) string { return "! no more records are shown, " + command[0] + " goes on" }
	if err = w.until(ctx, command); err == nil && len(command) == 0 {
		f.sayEnded(ctx, e)
	}
	if _, ended := errors.AsType[commandError](err); err == nil || ended {
		var statsErr error
		if st, statsErr = w.counts(); statsErr == nil {
			w.summary(&st)
			w.notes.nothing(e, f.all(patterns), command)
			statsErr = f.lossError(&st)
		}
		err = errors.Join(err, statsErr)
	}
	return errors.Join(err, w.end())
}

type watcher struct {
	session
	printer

	pipe pipe // standard output

	maxRate  int    // 0 means no limit
	second   int64  // second that rate counts
	rate     [2]int // of problems, and of other records
	beyond   uint64 // excluded by the rate or the limit
	said     uint64 // of beyond, the number already reported
	problems uint64 // of beyond, those that are not reported yet
}

// newWatcher returns the watcher of the command line. Errors are usage errors.
func (e *env) newWatcher(f *watchFlags, patterns []string) (*watcher, *reader.Options, error) {
	o, err := f.options(patterns)
	if err == nil {
		err = f.setLimit(o)
	}
	if err != nil {
		return nil, nil, err
	}
	_, terminal := e.terminal(e.out)
	w := &watcher{session: e.newSession(&f.selection, o), pipe: pipe{w: e.out}, maxRate: f.maxRate}
	if w.maxRate < 0 || f.duration < 0 {
		return nil, nil, usageError{errors.New("--max-rate and --duration cannot be negative")}
	}
	if terminal && w.maxRate == 0 {
		w.maxRate = terminalRate
	}
	var table *symbols.Table
	if f.stack {
		o.Callchain, table = true, symbols.New()
		f.tail.symbols = table
		o.Latency = 10 * time.Millisecond // the functions of a process cannot be read after its exit
	}
	if w.printer, err = f.newPrinter(e, &w.pipe, table); err != nil {
		return nil, nil, err
	}
	if err := f.tail.parse(); err != nil {
		return nil, nil, err
	}
	w.handle, w.tick, w.session.close, w.eager = w.event, w.flush, w.printer.close, true
	o.Notify = w.notice
	return w, o, nil
}

func (w *watcher) event(ev *record.Record) error {
	w.notes.process(ev)
	if !w.matches(ev) {
		return nil
	}
	if w.full() || w.pipe.closed {
		w.beyond++
		w.said++ // the user requested it with -n
		return nil
	}
	if w.maxRate > 0 {
		if second := ev.Time.Unix(); second != w.second {
			w.second, w.rate = second, [2]int{}
			w.sayBeyond()
		}
		rate := &w.rate[1]
		problem := isProblem(ev)
		if problem {
			rate = &w.rate[0]
		}
		if *rate++; *rate > w.maxRate {
			w.beyond++
			if problem {
				w.problems++
			}
			return nil
		}
	}
	if err := w.print(ev); err != nil {
		return err
	}
	if w.pipe.closed {
		return errEnough
	}
	return nil
}

// isProblem reports whether a record is a warning, an error or a failed span, which others must not hide.
func isProblem(ev *record.Record) bool {
	return ev.Severity >= record.SeverityWarn || ev.Status == record.StatusError
}

// pipe is standard output. While a COMMAND runs, that the program which reads it has ended is no error: the rest is dropped, as beyond a
// limit.
type pipe struct {
	w                io.Writer
	mayClose, closed bool
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.closed {
		return len(b), nil
	}
	n, err := p.w.Write(b)
	if p.mayClose && errors.Is(err, syscall.EPIPE) {
		p.closed = true
		return len(b), nil
	}
	return n, err
}

func (w *watcher) sayBeyond() {
	if n := w.beyond - w.said; n > 0 {
		w.said = w.beyond
		of := ""
		if w.problems > 0 {
			of = fmt.Sprintf(", %s of them warnings or errors", output.Count(w.problems))
		}
		w.problems = 0
		w.notes.add("! %s records not shown%s: more than %s a second (--max-rate)", output.Count(n), of, output.Count(uint64(w.maxRate)))
	}
}

func (w *watcher) flush() error {
	closed := w.pipe.closed
	if err := w.out.Flush(); err != nil {
		return err
	}
	w.say()
	if !closed && w.pipe.closed {
		return errEnough
	}
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

func (w *watcher) summary(st *reader.Stats) {
	w.sayBeyond()
	w.notes.flush()
	w.sayCounts(st, output.Count(w.shown)+" shown", count{w.beyond, "not shown"}, count{w.unmatched, "without a match for --grep"})
	w.e.sayUnseen(w.unseen, w.shown)
	w.names.say()
	w.e.sayUndecodable(st, "see -o raw")
}
