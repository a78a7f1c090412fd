package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
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
	r := &replayer{e: e, limit: f.count, out: bufio.NewWriterSize(e.out, 64<<10), unseen: output.NewUnseen(f.format, f.names())}
	var err error
	if r.where, err = f.condition(pidCondition(f.pids)); err != nil {
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

type replayer struct {
	e     *env
	from  *merged
	to    output.Writer
	out   *bufio.Writer
	file  *recording // nil if records are shown
	times timeRange
	where *where.Condition
	names missingNames
	grep  *grep
	limit uint64

	unseen      output.Unseen
	interrupted bool
	read        uint64 // records of the files
	unselected  uint64 // by conditions on each alone
	unmatched   uint64 // excluded by grep
	stacks      uint64 // records that have one
	counted     contents
	malformed   uint64
	undecodable uint64
	lost        uint64
	firstErr    error // about a record
}

func (r *replayer) open(ctx context.Context, f *replayFlags, table *symbols.Table) error {
	if f.to != "" {
		file, err := createRecording(ctx, f.to, &recordingOptions{format: f.as, weight: f.weight, stack: table})
		if err != nil {
			return err
		}
		r.file, r.to = file, file
		return nil
	}
	var err error
	r.to, err = f.writer(r.e, r.out, nil)
	return err
}

func (r *replayer) run(ctx context.Context) error {
	var ev record.Record
	for ctx.Err() == nil {
		err := r.from.Next(&ev)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case errors.Is(err, jsonlines.ErrFormat), errors.Is(err, record.ErrMalformed):
			if r.malformed++; r.firstErr == nil {
				r.firstErr = err
			}
			continue
		case err != nil:
			return err
		}
		r.read++
		if ev.Undecodable {
			r.undecodable++
		}
		if !r.times.selects(ev.Time) || r.where != nil && !r.where.Match(&ev) {
			r.unselected++
			continue
		}
		if buffer := r.names.tail; buffer != nil {
			err = buffer.Pass(&ev, r.event)
		} else {
			err = r.event(&ev)
		}
		if err != nil {
			return err
		}
		if r.limit > 0 && r.counted.records == r.limit {
			return nil
		}
	}
	return nil
}

func (r *replayer) event(ev *record.Record) error {
	if !r.grep.matches(ev) {
		r.unmatched++
		return nil
	}
	if r.limit > 0 && r.counted.records == r.limit {
		return nil
	}
	if err := r.to.Write(ev); err != nil {
		return err
	}
	if len(ev.Callchain) > 0 {
		r.stacks++
	}
	r.unseen.See(ev)
	r.counted.add(ev)
	return nil
}

// unwanted counts a record, whose time is known before its other parts, if that is not selected.
func (r *replayer) unwanted(at time.Time) bool {
	if r.times.selects(at) {
		return false
	}
	r.read++
	r.unselected++
	return true
}

// noteLost counts lost records, which not every output shows.
func (r *replayer) noteLost(name string, n uint64, at time.Time) error {
	if !at.IsZero() && !r.times.has(at) {
		return nil
	}
	r.lost += n
	return r.to.Lost(name, n, at)
}

// sayMissing says what of a recording is not shown.
func (r *replayer) sayMissing() {
	if r.lost > 0 {
		r.e.say("! %s records were lost when it was recorded", output.Count(r.lost))
	}
	if r.undecodable > 0 {
		r.e.say("! %s records were not as their event's format says: they have no fields", output.Count(r.undecodable))
	}
	r.from.sayMissing(r.e, r.counted.records > 0)
}

// saySelected says how many records the conditions select, and which names none has. Up to --count, the rest is not known.
func (r *replayer) saySelected() {
	switch selected := r.counted.records; {
	case r.read == 0 && r.malformed == 0:
		r.e.say("no records")
	case selected < r.read && (r.limit == 0 || selected < r.limit):
		line := output.Count(selected) + " of " + output.Plural(r.read, "record") + " selected"
		if r.names.tail != nil { // else it is clear what became of the others
			var others []string
			for _, c := range append(heldBack(r.names.tail), count{r.unmatched, "without a match for --grep"}, count{r.unselected, "not selected for --when"}) {
				if c.n > 0 {
					others = append(others, output.Count(c.n)+" "+c.what)
				}
			}
			line += ": " + strings.Join(others, " + ")
		}
		r.e.say("%s", line)
	}
	if r.interrupted {
		r.e.say("! interrupted: the rest was not read")
	}
	r.names.say()
	r.times.say(r.e)
}

func (r *replayer) close() error {
	err := r.to.Close()
	if r.file == nil {
		err = errors.Join(err, r.out.Flush())
		r.e.sayUnseen(r.unseen, r.counted.records)
		r.saySelected()
		return err
	}
	r.saySelected()
	if r.file.format.stack && r.stacks == 0 {
		r.e.say("! no record has a stack: the recording was made without --stack (perf record: -g)")
	}
	if w, ok := r.file.Writer.(*otlpfile.Writer); ok {
		sayOTLP(r.e, w.Stats())
	}
	r.e.say("%s", r.file.wrote(r.counted.text()))
	return err
}
