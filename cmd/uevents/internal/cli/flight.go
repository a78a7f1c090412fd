package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/userevents/userevents-go/cmd/uevents/internal/flight"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/record/where"
)

type flightFlags struct {
	selection
	tail                  tailFlags
	trigger, keep, atMost string
	triggerEvents         []string
	directory, format     string
	weight                string
	stack                 bool
	dumps                 int
	duration              time.Duration
}

func newFlightCommand(e *env) *cobra.Command {
	var f flightFlags
	cmd := &cobra.Command{
		Use:   "flight [PATTERN...] [-- COMMAND ARGS...]",
		Short: "Keep the last records in memory, and write them when something happens",
		Long: `Keeps the latest records of the events that match in memory, where new ones replace old
ones. When a record meets the condition of --trigger, or uevents gets the
signal USR1, it writes what is there to a file: what all these programs did before. Until
then it sleeps. The names of the files go to standard output. A record that --where, --level
or another condition excludes neither is kept nor triggers. Of what is kept, --when selects
what is written: see uevents watch --help.

` + patternsHelp + `

` + allHelp + `

` + commandHelp + `
If the COMMAND fails, it writes a file, too.

Formats (--format):
` + formatsHelp(),
		Example: `  uevents flight myapp --trigger 'duration > 100ms' -o /var/tmp
  uevents flight 'myapp_*' 'db_*' --trigger-event myapp_error --keep 10s --at-most 2/h
  uevents flight myapp --format pftrace & kill -USR1 $!
  uevents flight -- go test ./...`,
		Args: needsPattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			patterns, command := splitCommand(cmd, args)
			return e.flight(cmd.Context(), &f, patterns, command)
		},
	}
	f.addEvents(e, cmd)
	f.tail.add(cmd, "64M")
	flags := cmd.Flags()
	flags.StringVar(&f.trigger, "trigger", "", "`CONDITION` on a record that makes it write, as of --where, such as 'duration > 100ms'")
	flags.StringArrayVar(&f.triggerEvents, "trigger-event", nil, "events that trigger: `PATTERN`; with --trigger those that meet it (default: all)")
	flags.StringVar(&f.keep, "keep", "64M", "how much to keep: a `SIZE` such as 64M for all CPUs together, how long such as 10s, or both: 64M,10s")
	flags.StringVar(&f.atMost, "at-most", "6/h", "write no more often than this `RATE` because of triggers, such as 2/h or 1/90s")
	flags.StringVarP(&f.directory, "output", "o", ".", "`DIR` for the files")
	flags.Var(newChoice(&f.format, formatNames()...), "format", "`FORMAT` of the files: "+strings.Join(formatNames(), ", "))
	flags.BoolVar(&f.stack, "stack", false, "keep the stacks of the programs; costs them more")
	flags.StringVar(&f.weight, "weight", "", "`FIELD` whose numbers a profile adds up for each stack, such as duration_ns")
	flags.IntVarP(&f.dumps, "count", "n", 0, "end after `N` files")
	flags.DurationVar(&f.duration, "duration", 0, "end after this `TIME`; 0 means never")
	completeFlag(cmd, "format", formatNames()...)
	return cmd
}

// flightOptions returns what the command line asks for. Errors are about that.
func (f *flightFlags) flightOptions(patterns []string) (fo flight.Options, kept keep, limiter *rate.Limiter, err error) {
	if kept, err = parseKeep(f.keep); err != nil {
		return fo, kept, nil, usageError{fmt.Errorf("--keep: %w", err)}
	}
	if limiter, err = flight.ParseRate(f.atMost); err != nil {
		return fo, kept, nil, usageError{fmt.Errorf("--at-most: %w", err)}
	}
	switch {
	case f.dumps < 0 || f.duration < 0:
		return fo, kept, nil, usageError{errors.New("--count and --duration cannot be negative")}
	case f.weight != "" && f.format != "pb.gz":
		return fo, kept, nil, usageError{errors.New("--weight is for profiles: --format pb.gz")}
	}
	o, err := f.options(patterns)
	if err == nil {
		err = f.tail.parse()
	}
	if err != nil {
		return fo, kept, nil, err
	}
	o.Callchain = f.stack || f.format == "pb.gz"
	fo = flight.Options{Reader: *o, Keep: kept.age, TriggerEvents: f.triggerEvents, Tail: f.tail.o}
	fo.Trigger, err = f.triggerCondition(o.Where)
	return fo, kept, limiter, err
}

// triggerCondition returns the condition on records that trigger, nil if there is none: only records that are selected do.
func (f *flightFlags) triggerCondition(selected *where.Condition) (*where.Condition, error) {
	if f.trigger == "" {
		if len(f.triggerEvents) == 0 {
			return nil, nil
		}
		return selected, nil
	}
	trigger, err := parseCondition("--trigger", f.trigger)
	if err != nil {
		return nil, err
	}
	return where.And(trigger, selected), nil
}

// tryToWrite returns the error of creating a file. Without it, what is wrong with the directory would show when a trigger fires,
// and the records before it would be gone.
func tryToWrite(directory string) error {
	f, err := os.CreateTemp(directory, ".uevents-flight-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (e *env) flight(ctx context.Context, f *flightFlags, patterns, command []string) error {
	o, kept, limiter, err := f.flightOptions(patterns)
	if err != nil {
		return err
	}
	if st, err := os.Stat(f.directory); errors.Is(err, fs.ErrNotExist) {
		return hintError{fmt.Errorf("the directory for the files: %w", err), "create it, or choose another one: -o DIR"}
	} else if err != nil {
		return err
	} else if !st.IsDir() {
		return usageError{fmt.Errorf("%s is no directory", f.directory)}
	}
	if err := e.prepare(&o.Reader, patterns, command); err != nil {
		return err
	}
	if err := tryToWrite(f.directory); err != nil {
		return err
	}
	cpus, err := perf.CPUs() // which are more than uevents may use where its affinity is limited
	if err != nil {
		return hintForOpen(err)
	}
	o.Reader.BufferSize = kept.ring(cpus)
	signals := make(chan os.Signal, 1)
	if len(dumpSignals) > 0 { // without arguments, Notify relays all signals
		signal.Notify(signals, dumpSignals...)
		defer signal.Stop(signals)
	}
	p := &pilot{e: e, f: f, command: command, limiter: limiter, notes: notes{w: e.err, buffer: o.Reader.BufferSize}}
	recording := &recordingOptions{clocks: perfetto.MachineClocks, weight: f.weight}
	if o.Reader.Callchain {
		recording.stack = symbols.New()
	}
	p.into = rotation{now: e.now, o: recording, base: filepath.Join(f.directory, "flight-"), suffix: "." + f.format}
	p.names = []missingNames{{e: e, where: o.Reader.Where, flags: &f.conditionFlags}, {e: e, where: o.Trigger}}
	if o.Tail != nil {
		p.names = append(p.names, missingNames{e: e, where: o.Tail.When})
	}
	o.Reader.Notify, o.Signals = p.notice, signals
	if p.recorder, err = flight.Arm(o); err != nil {
		return hintForOpen(err)
	}
	err = p.armed(&o)
	if err == nil {
		err = p.run(ctx)
	}
	return errors.Join(err, p.recorder.Close())
}

// keep is how much flight keeps: bytes on all CPUs together, and if age is not 0, only records of that age.
type keep struct {
	bytes int
	age   time.Duration
}

// Bytes to keep if only the age is given, and the minimum.
const (
	defaultKeep = 64 << 20
	leastKeep   = 64 << 10
)

// parseKeep parses a size (64M, 512K, 1G), an age (10s, 5m), or both: 64M,10s.
func parseKeep(s string) (keep, error) {
	k := keep{}
	for part := range strings.SplitSeq(s, ",") {
		age, err := time.ParseDuration(part)
		size, sizeErr := output.ParseSize(part)
		switch {
		case err == nil && age > 0 && k.age == 0:
			k.age = age
		case sizeErr == nil && size >= leastKeep && k.bytes == 0:
			k.bytes = size
		default:
			return keep{}, fmt.Errorf("%q is neither a size from 64K to 1G nor an age such as 10s", part)
		}
	}
	if k.bytes == 0 {
		k.bytes = defaultKeep
	}
	return k, nil
}

// ring returns the size of each CPU's ring: the largest power of two with which all rings are within the limit.
func (k keep) ring(cpus int) int {
	size := leastKeep
	for size*2*cpus <= k.bytes {
		size *= 2
	}
	return size
}
