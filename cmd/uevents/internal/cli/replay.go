package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
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

func (e *env) replay(ctx context.Context, f *replayFlags, paths []string) error {
	var selected replaySelection
	var err error
	if selected.where, err = f.condition(oneOf("pid", mapped(f.pids, strconv.Itoa))); err != nil {
		return err
	}
	if selected.times, err = f.times.timeRange(e.now()); err != nil {
		return err
	}
	r := &replayer{session: session{e: e, names: missingNames{e: e, where: selected.where, flags: &f.conditionFlags, fields: []string{}}}}
	if r.printer, err = f.newPrinter(e, e.out, nil); err != nil {
		return err
	}
	if err := f.tail.parse(); err != nil {
		return err
	}
	if f.tail.o != nil {
		f.tail.o.WallTime = true // by which files are merged
	}
	var table *symbols.Table
	if format, err := formatOf(f.to, f.as); f.to != "" && err != nil {
		return err
	} else if f.to != "" && format.stack {
		table = symbols.NewRecorded()
	}
	r.from, err = e.openRecordings(ctx, paths, table, selected)
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while it waited
		}
		return err
	}
	defer r.from.Close()
	if r.source, err = f.tail.buffered(r.from); err != nil {
		return err
	}
	r.names.tail = bufferOf(r.source)
	if f.to != "" {
		r.file, err = createRecording(ctx, f.to, &recordingOptions{format: f.as, weight: f.weight, stack: table})
		if err != nil {
			return err
		}
		r.writer = r.file
	}
	r.from.lost = r.writer.Lost
	r.handle = r.record
	err = r.until(ctx, nil)
	r.interrupted = ctx.Err() != nil
	r.from.Close()
	r.sayMissing()
	if closeErr := r.finish(); err == nil {
		err = closeErr
	}
	return cmp.Or(err, r.from.malformedError())
}

type replayer struct {
	session
	printer

	from        *recordings
	file        *recording // nil if records are shown
	interrupted bool
	stacks      uint64 // records that have one
	counted     contents
}

func (r *replayer) record(ev *record.Record) error {
	if !r.matches(ev) || r.full() {
		return nil
	}
	if len(ev.Callchain) > 0 {
		r.stacks++
	}
	err := r.print(ev)
	if err == nil || errors.Is(err, errEnough) {
		r.counted.add(ev)
	}
	return err
}

// sayMissing says what of a recording is not shown.
func (r *replayer) sayMissing() {
	st := &r.from.stats
	if st.Total.Lost > 0 {
		r.e.say("! %s records were lost when it was recorded", output.Count(st.Total.Lost))
	}
	r.e.sayUndecodable(st, "they have no fields")
	r.from.sayMissing(r.e, r.shown > 0)
}

// saySelected says how many records the conditions select, and which names none has. Up to --count, the rest is not known.
func (r *replayer) saySelected() {
	st := &r.from.stats
	switch read := st.Total.Read; {
	case read == 0 && r.from.malformed == 0:
		r.e.say("no records")
	case r.shown < read && !r.full():
		line := output.Count(r.shown) + " of " + output.Plural(read, "record") + " selected"
		if r.names.tail != nil { // else it is clear what became of the others
			others := append(heldBack(r.names.tail), count{r.unmatched, "without a match for --grep"}, count{st.Unselected, "not selected for --when"})
			line += ": " + strings.Join(texts(others), " + ")
		}
		r.e.say("%s", line)
	}
	if r.interrupted {
		r.e.say("! interrupted: the rest was not read")
	}
	r.names.say()
	r.from.selected.times.say(r.e)
}

func (r *replayer) finish() error {
	if r.file == nil {
		err := r.printer.close()
		r.e.sayUnseen(r.unseen, r.shown)
		r.saySelected()
		return err
	}
	err := r.file.Close()
	r.saySelected()
	if r.file.format.stack && r.stacks == 0 {
		r.e.say("! no record has a stack: the recording was made without --stack (perf record: -g)")
	}
	r.e.sayOTLP(r.file.Writer)
	r.e.say("%s", r.file.wrote(r.counted.text()))
	return err
}
