package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
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
				if err := f.choose(e, cmd); err != nil {
					return err
				}
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
	flags.BoolVar(&f.stack, "stack", false, "show the functions below each record, from the one that logged; costs the program more")
	return cmd
}

// watch runs the command.
func (e *env) watch(ctx context.Context, f *watchFlags, patterns, command []string) error {
	w, o, err := e.newWatcher(f, patterns)
	if err != nil {
		return err
	}
	if f.explain {
		return e.explain(o)
	}
	if err := e.command(o, patterns, command); err != nil {
		return err
	}
	if err := e.selectTransport(o); err != nil {
		return err
	}
	began := e.now()
	w.expiry = e.expire(f.duration)
	if w.live, err = f.tail.open(e, o); err != nil {
		return errors.Join(hintForOpen(err), w.end())
	}
	w.names.tail = bufferOf(w.live)
	f.tail.sayLimited(e, o)
	st, err := w.live.Stats()
	if err == nil {
		if len(command) == 0 {
			f.sayAbsent(e)
		}
		if len(command) == 0 || len(st.Events) > 0 {
			similar := ""
			if len(st.Events) == 0 {
				similar = e.didYouMean(patterns)
			}
			w.notes.opened(&st, e.now().Sub(began), similar)
			if len(command) == 0 && len(st.Events) > 0 {
				e.sayUnmatched(patterns, namesOf(st.Events), !f.noFollow)
			}
			f.sayLimit(e)
		}
		w.notes.offered = len(st.Events) > 0
		err = w.run(ctx, f, command)
	}
	if _, ended := errors.AsType[commandError](err); err == nil || ended {
		var statsErr error
		if st, statsErr = w.counts(); statsErr == nil {
			w.summary(&st, e.now().Sub(began))
			w.notes.nothing(e, f.all(patterns), command)
			statsErr = f.lossError(&st)
		}
		err = errors.Join(err, statsErr)
	}
	return errors.Join(err, w.end())
}
