package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/jsonlines"
	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfdata"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/tail"
)

type replayFlags struct {
	outputFlags
	conditionFlags
	tail           tailFlags
	pids           []int
	to, as, weight string
}

func newReplayCommand(e *env) *cobra.Command {
	f := replayFlags{outputFlags: outputFlags{dates: true}}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recording, or write it in another format",
		Long: `Reads a recording, and shows its records as watch does, or writes them to another file
with --to. FILE is one of JSON lines (.jsonl) or of perf (perf.data, of uevents record or
of perf record), or a pipe, and - means standard input; a finished perf.data must be a file,
since its parts are read at several places. The recording can be from another machine. If
the program that recorded it was killed, what it had written is shown; replay fails if the
last record is cut. Records of another day have their date. --when is as that of watch, which
explains it.

` + conditionHelp + `

Formats of --to:
` + formatsHelp(true),
		Example: `  uevents replay myapp.jsonl --level warn --grep 'user 4[0-9]'
  uevents replay myapp.perf.data -o json | jq .message
  uevents replay myapp.jsonl --where 'status >= 500 and not has(cached)'
  uevents replay myapp.jsonl --to myapp.pftrace`,
		Args: cobra.ExactArgs(1),
	}
	f.addOutput(cmd)
	flags := cmd.Flags()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// Such as a shell makes of a variable that is not set: the records would go to the terminal.
		if flags.Changed("to") && f.to == "" {
			return usageError{errors.New("--to has no name of a file")}
		}
		return e.replay(cmd.Context(), &f, args[0])
	}
	f.addConditions(e, cmd)
	f.tail.add(cmd)
	flags.IntSliceVar(&f.pids, "pid", nil, "only records of processes with these `PID`s")
	flags.StringVar(&f.to, "to", "", "write to `FILE`, which must not exist, instead")
	flags.StringVar(&f.as, "format", "", "`FORMAT` of that file, whatever its name: "+strings.Join(formatNames(), ", "))
	flags.StringVar(&f.weight, "weight", "", "add up this `FIELD` in a profile, such as latency_ns")
	completeFlag(cmd, "format", formatNames()...)
	return cmd
}

// recorded reads the records of a file.
type recorded interface {
	// Next reads the next record. It returns io.EOF at the end. After an error about one record, it continues with the
	// next.
	Next(ev *reader.Event) error
}

// replayer shows or writes the records of a file.
type replayer struct {
	e     *env
	from  recorded
	to    output.Writer
	out   *bufio.Writer
	file  *recording // nil if records are shown
	where *reader.Condition
	names missingNames
	grep  *grep
	tail  *tail.Buffer // nil without --when
	limit uint64

	unseen      output.Unseen
	read        uint64 // records of the file
	stacks      uint64 // records that have one
	counted     contents
	malformed   uint64
	undecodable uint64
	lost        uint64
	firstErr    error // about a record
}

// replay runs the command.
func (e *env) replay(ctx context.Context, f *replayFlags, path string) error {
	r := &replayer{e: e, limit: f.count, out: bufio.NewWriterSize(e.out, 64<<10), unseen: output.NewUnseen(f.format, f.names())}
	var err error
	if r.where, err = f.condition(pidCondition(f.pids)...); err != nil {
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
		if r.tail, err = tail.New(*f.tail.o); err != nil {
			return err
		}
		r.names.tail = r.tail
	}
	var table *symbols.Table
	if format, err := formatOf(f.to, f.as); f.to != "" && err != nil {
		return err
	} else if f.to != "" && format.raw {
		return usageError{fmt.Errorf("a recording of %s has records as the kernel wrote them: make it by uevents record", format.suffix)}
	} else if f.to != "" && format.stack {
		table = symbols.NewRecorded()
	}
	in, err := e.openRecorded(ctx, path, table)
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while it waited
		}
		return err
	}
	defer func() { _ = in.Close() }() // opened read-only
	r.from = in
	if err := r.open(ctx, f, table); err != nil {
		return err
	}
	switch from := in.recorded.(type) {
	case *jsonlines.Reader:
		from.Lost = r.noteLost
	case *perfdata.Reader:
		from.Lost = r.noteLost
	}
	err = r.run(ctx)
	r.sayMissing(in.recorded)
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, perfdata.ErrCut) {
		err = hintError{fmt.Errorf("%s: %w", path, err), "all records before it are there: the program that recorded them was killed, or its disk was full"}
	}
	if err == nil && r.malformed > 0 {
		err = fmt.Errorf("%s of %s could not be read, the first: %w", output.Plural(int(r.malformed), "record"), path, r.firstErr)
	}
	return err
}

// open opens the destination.
func (r *replayer) open(ctx context.Context, f *replayFlags, table *symbols.Table) error {
	if f.to != "" {
		file, err := createRecording(ctx, f.to, &recordingOptions{format: f.as, weight: f.weight, stack: table, unordered: f.tail.o != nil})
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

// run reads all records.
func (r *replayer) run(ctx context.Context) error {
	var ev reader.Event
	for ctx.Err() == nil {
		err := r.from.Next(&ev)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case errors.Is(err, jsonlines.ErrFormat), errors.Is(err, reader.ErrMalformed):
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
		if r.where != nil && !r.where.Match(&ev) {
			continue
		}
		if r.tail != nil {
			err = r.tail.Pass(&ev, r.event)
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

// event shows or writes a record.
func (r *replayer) event(ev *reader.Event) error {
	if !r.grep.matches(ev) || r.limit > 0 && r.counted.records == r.limit {
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

// noteLost counts lost records, which not every output shows.
func (r *replayer) noteLost(name string, n uint64, at time.Time) error {
	r.lost += n
	return r.to.Lost(name, n, at)
}

// sayMissing says what of a recording is not shown.
func (r *replayer) sayMissing(from recorded) {
	if r.lost > 0 {
		r.e.say("! %s records were lost when it was recorded", output.Count(r.lost))
	}
	if r.undecodable > 0 {
		r.e.say("! %s records were not as their event's format says: they have no fields", output.Count(r.undecodable))
	}
	file, ok := from.(*perfdata.Reader)
	if !ok {
		return
	}
	if n := file.Skipped(); n > 0 {
		r.e.say("! %s records of events that are no tracepoints are not shown", output.Count(n))
	}
	switch clock := file.Clock(); {
	case r.counted.records == 0: // nor times
	case !clock.WallTime:
		r.e.say("! the recording does not have the time of day: times begin in 1970 (perf record -k mono keeps it)")
	case !clock.Monotonic:
		r.e.say("! times of --time mono and monotonic_ns are not of CLOCK_MONOTONIC, but of the clock of the recording")
	}
}

// saySelected says how many records the conditions select, and which names none has. Up to --count, the rest is not known.
func (r *replayer) saySelected() {
	switch selected := r.counted.records; {
	case r.read == 0 && r.malformed == 0:
		r.e.say("no records")
	case selected < r.read && (r.limit == 0 || selected < r.limit):
		line := output.Count(selected) + " of " + output.Plural(r.read, "record") + " selected"
		for _, c := range heldBack(r.names.tail) {
			if c.n > 0 {
				line += "; " + output.Count(c.n) + " " + c.what
			}
		}
		r.e.say("%s", line)
	}
	r.names.say()
}

// close writes what is left, and says what was written to a file.
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

// recordedInput is a file with records.
type recordedInput struct {
	recorded
	io.Closer
}

// openRecorded opens a file with records. It adds the file's mappings of processes to the table of symbols.
func (e *env) openRecorded(ctx context.Context, path string, table *symbols.Table) (recordedInput, error) {
	if path == "-" {
		var r recorded
		var err error
		if f, ok := e.in.(*os.File); ok {
			r, err = recordedFrom(ctx, f, table)
		} else {
			r, err = recordedStream(ctx, e.in, table)
		}
		return recordedInput{r, io.NopCloser(e.in)}, err
	}
	f, err := untilDone(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return recordedInput{}, err
	}
	r, err := recordedFrom(ctx, f, table)
	if err != nil {
		return recordedInput{}, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return recordedInput{r, f}, nil
}

// recordedFrom returns the records of a file, whose content is its format.
func recordedFrom(ctx context.Context, f *os.File, table *symbols.Table) (recorded, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return recordedStream(ctx, f, table)
	}
	begin := make([]byte, perfdata.MagicSize)
	n, err := f.ReadAt(begin, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if perfdata.IsFile(begin[:n]) {
		return perfdata.Open(f, table)
	}
	switch format, err := formatOf(f.Name(), ""); {
	case err == nil && format.raw:
		return perfdata.Open(f, table) // it says what is wrong with the beginning
	case err == nil && format.suffix != ".jsonl":
		return nil, usageError{errors.New("replay reads JSON lines and perf.data; other formats are made from them with --to")}
	}
	return jsonlines.NewReader(f), nil
}

// recordedStream returns the records of a pipe, which can be read once, from its beginning to its end.
func recordedStream(ctx context.Context, in io.Reader, table *symbols.Table) (recorded, error) {
	buffered := bufio.NewReaderSize(&stream{ctx: ctx, from: in}, 64<<10)
	begin, err := buffered.Peek(perfdata.MagicSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if perfdata.IsFile(begin) {
		return perfdata.Open(buffered, table)
	}
	return jsonlines.NewReader(buffered), nil
}

// stream reads what another program writes, until ctx is done.
type stream struct {
	ctx  context.Context
	from io.Reader
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	b, err := untilDone(s.ctx, func() ([]byte, error) {
		b := make([]byte, len(p)) // p is not ours after Read
		n, err := s.from.Read(b)
		return b[:n], err
	})
	return copy(p, b), err
}

// untilDone returns the result of f, which may wait for another program, or an error once ctx is done. f goes on until the
// command has ended.
func untilDone[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := f()
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
