package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/otlpfile"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

type recordFlags struct {
	selection
	limitFlag
	tail                   tailFlags
	rotation               rotationFlags
	output, format, weight string
	sched, stack           bool
	duration               time.Duration
}

func newRecordCommand(e *env) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [PATTERN...] -o FILE [-- COMMAND ARGS...]",
		Short: "Write records to a file",
		Long: `Attaches to the events that match, also to those that appear later, and writes their
records to a file until it is interrupted.

` + commandHelp + `

` + patternsHelp + `

` + allHelp + `

` + conditionHelp + `

--when records only traces in which something happens: see uevents watch --help.

` + limitHelp + `

FILE is replaced if it exists. Only its owner may read it: logs have secrets. The end of
its name, such as .jsonl, is its format, unless --format is given:
` + formatsHelp() + `

` + rotationHelp,
		Example: `  uevents record myapp -o myapp.jsonl
  uevents record 'myapp_*' -o t.pftrace --sched -- ./loadtest
  uevents record myapp -o /var/log/myapp.jsonl --max-size 64M --max-files 100
  uevents record '*_error' -o errors.pb.gz --duration 1m
  uevents record myapp_http_request -o slow.pb.gz --weight latency_ns`,
		Args: needsPattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			patterns, command := splitCommand(cmd, args)
			return e.record(cmd.Context(), &f, patterns, command)
		},
	}
	f.addEvents(e, cmd)
	f.addRecords(e, cmd)
	f.tail.add(cmd, "64M")
	f.rotation.add(cmd)
	f.addLimit(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write")
	flags.StringVar(&f.format, "format", "", "`FORMAT` of the file, whatever its name: "+strings.Join(formatNames(), ", "))
	flags.BoolVar(&f.sched, "sched", false, "record context switches, too: where threads wait and for how long")
	flags.BoolVar(&f.stack, "stack", false, "record the stacks of the programs, too, which costs them more")
	flags.StringVar(&f.weight, "weight", "", "add up this `FIELD` in a profile, such as latency_ns")
	flags.DurationVar(&f.duration, "duration", 0, "end after this `TIME`, also if uevents hangs; 0 means never")
	completeFlag(cmd, "format", formatNames()...)
	_ = cmd.MarkFlagRequired("output") // the flag exists
	return cmd
}

// recordOptions returns the options of the command line. Errors are usage errors.
func (f *recordFlags) recordOptions(patterns []string) (*reader.Options, *recordingOptions, error) {
	fail := func(text string) (*reader.Options, *recordingOptions, error) {
		return nil, nil, usageError{errors.New(text)}
	}
	format, err := formatOf(f.output, f.format)
	if err != nil {
		return nil, nil, err
	}
	o, err := f.options(patterns)
	if err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(f.rotation.check(f.output, format), f.tail.parse(), f.setLimit(o)); err != nil {
		return nil, nil, err
	}
	switch {
	case f.duration < 0:
		return fail("--duration cannot be negative")
	case f.weight != "" && !format.stack:
		return fail("--weight is for profiles: -o FILE.pb.gz")
	case f.sched && (len(f.pids) > 0 || f.cgroup != ""):
		return fail("--sched records all threads of the machine: not with --pid or --cgroup")
	}
	if f.sched {
		addSwitches(o)
	}
	o.Callchain = f.stack || format.stack
	ro := &recordingOptions{clocks: perfetto.MachineClocks, weight: f.weight, format: f.format, replace: !f.rotation.rotates()}
	if o.Callchain {
		ro.stack = symbols.New()
		f.tail.symbols = ro.stack
	}
	return o, ro, nil
}

func (e *env) record(ctx context.Context, f *recordFlags, patterns, command []string) error {
	o, ro, err := f.recordOptions(patterns)
	if err != nil {
		return err
	}
	if err := e.prepare(o, patterns, command); err != nil {
		return err
	}
	r := e.newRecorder(f, o)
	st, err := r.open(o, &f.tail, f.duration)
	if err != nil {
		return err
	}
	err = r.record(ctx, f, ro, &st, patterns, command)
	return errors.Join(err, r.end())
}

type recorder struct {
	session

	file     *rotation
	counted  contents
	bytes    uint64 // of the records in the rings
	progress progress
}

func (e *env) newRecorder(f *recordFlags, o *reader.Options) *recorder {
	r := &recorder{session: e.newSession(&f.selection, o)}
	r.handle, r.session.tick = r.event, r.tick
	o.Notify = r.notice
	return r
}

func (r *recorder) record(ctx context.Context, f *recordFlags, o *recordingOptions, st *reader.Stats, patterns, command []string) (err error) {
	ctx, cancel := endAfter(ctx, f.duration)
	defer cancel()
	if len(command) == 0 {
		f.sayAbsent(r.e)
	}
	if r.file, err = f.rotation.create(ctx, r.e, f.output, o); err != nil {
		return err
	}
	r.notes.recording(r.e, st, r.file.path, patterns, command)
	if len(command) == 0 && len(st.Events) > 0 {
		r.e.sayUnmatched(patterns, namesOf(st.Events), !f.noFollow)
	}
	r.progress = progress{e: r.e, began: r.began}
	r.stopping = func() { r.file.limitPipe() }
	r.close = func() error {
		r.progress.clear()
		return r.file.Close()
	}
	r.goesOn = func(err error) string {
		if err == nil {
			return ""
		}
		return fmt.Sprintf("! recording has ended, %s goes on: %s", command[0], err)
	}
	err = r.until(ctx, command)
	counts, statsErr := r.counts()
	if err = errors.Join(err, statsErr); statsErr == nil {
		r.summary(&counts)
	}
	if err == nil {
		err = f.lossError(&counts)
	}
	return err
}

func (r *recorder) event(ev *record.Record) error {
	r.notes.process(ev)
	r.counted.add(ev)
	r.bytes += uint64(len(ev.Raw)) + sampleSize
	return r.file.Write(ev)
}

// sampleSize is the approximate size of a record in a ring without its payload.
const sampleSize = 64

func (r *recorder) tick() error {
	if err := r.file.flush(); err != nil {
		return err
	}
	r.progress.clear()
	r.say()
	if _, terminal := r.e.terminal(r.e.err); !terminal {
		return nil
	}
	st, err := r.source.Stats()
	if err != nil {
		return err
	}
	fill := 0.0
	if room := uint64(st.Rings) * uint64(st.BufferSize); room > 0 && r.counted.records > 0 {
		fill = min(1, float64(st.Total.Pending*(r.bytes/r.counted.records))/float64(room))
	}
	r.progress.show(r.counted.records, r.file.written(), st.Total.Lost, fill)
	return nil
}

func (r *recorder) notice(n reader.Notice) {
	r.notes.notice(n)
	switch {
	case r.file == nil:
	case n.Kind == reader.NoticeLost:
		_ = r.file.Lost(n.Event, n.Count, n.Time) // the next record reports the error
	case n.Kind == reader.NoticeExited:
		if w, ok := r.file.Writer.(*otlpfile.Writer); ok {
			w.Exited(n.PID)
		}
	}
}

func (r *recorder) summary(st *reader.Stats) {
	r.notes.flush()
	r.names.say()
	done := " recorded"
	if r.file.failed != nil {
		done = " read (the file has a part of them)"
	}
	r.sayCounts(st, output.Count(r.counted.records)+done)
	r.e.sayUndecodable(st, "they have no fields")
	r.e.sayOTLP(r.file.Writer)
	r.e.say("%s", r.file.wrote(r.counted.text()))
}

// progress is a line on a terminal that is rewritten in place.
type progress struct {
	e     *env
	began time.Time
	drawn bool
}

func (p *progress) show(records uint64, size int64, lost uint64, fill float64) {
	elapsed := p.e.now().Sub(p.began).Round(time.Second)
	line := fmt.Sprintf("%02d:%02d  %s records  %s  %s lost  ring %.0f %%",
		int(elapsed.Minutes()), int(elapsed.Seconds())%60, output.Count(records), output.FileSize(size), output.Count(lost), 100*fill)
	terminal, _ := p.e.terminal(p.e.err)
	fmt.Fprintf(p.e.err, "\r%s"+output.ClearLine, output.Cut(line, terminal.columns-1)) // a terminal wraps behind the last column
	p.drawn = true
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.e.err, "\r"+output.ClearLine)
		p.drawn = false
	}
}
