package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader/tail"
)

type replayFlags struct {
	outputFlags
	conditionFlags
	tail           tailFlags
	times          timeRangeFlags
	pids           []int
	to, as, weight string
}

func newReplayCommand(e *env) *cobra.Command {
	f := replayFlags{outputFlags: outputFlags{dates: true}}
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Show recordings, or write them in another format",
		Long: `Reads a recording, and shows its records as watch does, or writes them to another file
with --to. FILE is one of JSON lines (.jsonl) or of perf record (perf.data), or a pipe, and -
means standard input; a finished perf.data must be a file, since its parts are read at several
places. The recording can be from another machine. If the program that recorded it was killed,
what it had written is shown; replay fails if the last record is cut. Records of another day
have their date. The records of several FILEs are in order of time; those of the same time are
in the order of the FILEs. --when is as that of watch, which explains it.

` + timeRangeHelp + `

` + conditionHelp + `

Formats of --to:
` + formatsHelp(),
		Example: `  uevents replay myapp.jsonl --level warn --grep 'user 4[0-9]'
  uevents replay perf.data -o json | jq .message
  uevents replay myapp.jsonl --where 'status >= 500 and not has(cached)'
  uevents replay myapp-*.jsonl perf.data --since 03:10 --until 03:20
  uevents replay myapp.jsonl --to myapp.pftrace`,
		Args: cobra.MinimumNArgs(1),
	}
	f.addOutput(cmd)
	flags := cmd.Flags()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// Such as a shell makes of a variable that is not set: the records would go to the terminal.
		if flags.Changed("to") && f.to == "" {
			return usageError{errors.New("--to has no name of a file")}
		}
		return e.replay(cmd.Context(), &f, args)
	}
	f.addConditions(e, cmd)
	f.tail.add(cmd, "512M") // records of JSON lines are held decoded
	f.times.add(cmd)
	flags.IntSliceVar(&f.pids, "pid", nil, "only records of processes with these `PID`s")
	flags.StringVar(&f.to, "to", "", "write to `FILE`, which must not exist, instead")
	flags.StringVar(&f.as, "format", "", "`FORMAT` of that file, whatever its name: "+strings.Join(formatNames(), ", "))
	flags.StringVar(&f.weight, "weight", "", "add up this `FIELD` in a profile, such as latency_ns")
	completeFlag(cmd, "format", formatNames()...)
	return cmd
}

// replay runs the command.
func (e *env) replay(ctx context.Context, f *replayFlags, paths []string) error {
	r := &replayer{e: e, limit: f.count, out: bufio.NewWriterSize(e.out, 64<<10), unseen: output.NewUnseen(f.format, f.names())}
	var err error
	if r.where, err = f.condition(pidCondition(f.pids)...); err != nil {
		return err
	}
	if r.times, err = f.times.timeRange(e.now()); err != nil {
		return err
	}
	r.names = missingNames{e: e, where: r.where, flags: &f.conditionFlags, fields: []string{}}
	if r.grep, err = f.newGrep(e); err != nil {
		return err
	}
	if err := f.tail.parse(); err != nil {
		return err
	}
	if f.tail.o != nil {
		f.tail.o.WallTime = true // by which files are merged
		if r.names.tail, err = tail.New(*f.tail.o); err != nil {
			return err
		}
	}
	var table *symbols.Table
	if format, err := formatOf(f.to, f.as); f.to != "" && err != nil {
		return err
	} else if f.to != "" && format.stack {
		table = symbols.NewRecorded()
	}
	r.from, err = e.openMerged(ctx, paths, table, r.times.limited())
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while it waited
		}
		return err
	}
	defer r.from.Close()
	if err := r.open(ctx, f, table); err != nil {
		return err
	}
	r.from.lost = r.noteLost
	if r.times.limited() {
		r.from.unwanted = func(at time.Time) bool { return ctx.Err() == nil && r.unwanted(at) }
	}
	err = r.run(ctx)
	r.interrupted = ctx.Err() != nil
	r.from.Close()
	r.sayMissing()
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	if err == nil && r.malformed > 0 {
		what := output.Plural(int(r.malformed), "record")
		if len(paths) == 1 {
			what += " of " + paths[0]
		}
		err = fmt.Errorf("%s could not be read, the first: %w", what, r.firstErr)
	}
	return err
}
