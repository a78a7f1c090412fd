package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/tail"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// tailFlags select records by others that come later.
type tailFlags struct {
	when, same, hold string
	window           time.Duration
}

// tailHelp is the part on these flags in the help of commands.
const tailHelp = `--when selects records by others: with --when 'level >= error', those of the traces in which there
is an error, also the debug records before it. --same has the name whose value they share, such
as request_id. Records are held for the --window, and let through for as long behind the error;
the rest is dropped and counted. hist reads all user events then.`

// add adds the flags.
func (f *tailFlags) add(e *env, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.when, "when", "", "only records that share the value of --same with one that meets a `CONDITION`, such as 'level >= error'")
	flags.StringVar(&f.same, "same", "trace_id", "`NAME` whose value the records of --when share")
	flags.DurationVar(&f.window, "window", tail.DefaultWindow, "`TIME` for which --when holds records, and lets others through")
	flags.StringVar(&f.hold, "hold", "64M", "`SIZE` of the memory for records that --when holds")
	completeFlag(cmd, "same", reader.ConditionNames()...)
}

// options returns the options of the flags, nil without --when. Errors are usage errors.
func (f *tailFlags) options() (*tail.Options, error) {
	if f.when == "" {
		return nil, nil
	}
	o := &tail.Options{By: f.same, Window: f.window}
	var err error
	if o.When, err = parseCondition("--when", f.when); err != nil {
		return nil, err
	}
	if f.window <= 0 {
		return nil, usageError{errors.New("--window must be positive")}
	}
	if f.same == "" {
		return nil, usageError{errors.New("--same has an empty value")}
	}
	if o.Bytes, err = output.ParseSize(f.hold); err != nil {
		return nil, usageError{fmt.Errorf("--hold: %w", err)}
	}
	if o.Bytes < 1<<20 {
		return nil, usageError{errors.New("--hold must be 1M or more")}
	}
	return o, nil
}

// open opens what the flags select: a reader that holds records, or without --when one that does not.
func (f *tailFlags) open(e *env, dir *tracefs.Dir, o *reader.Options) (live, error) {
	selected, err := f.options()
	if err != nil {
		return nil, err
	}
	if selected != nil {
		o.Decode.Mode = reader.DecodeFull
	}
	r, err := e.open(dir, o)
	if err != nil || selected == nil {
		return r, err
	}
	t := &tailed{live: r}
	t.buffer, err = tail.New(*selected)
	return t, err
}

// tailed is a reader of the records that a Buffer lets through.
type tailed struct {
	live

	buffer   *tail.Buffer
	ready    []*reader.Event
	deadline time.Time
}

func (t *tailed) SetDeadline(at time.Time) {
	t.deadline = at
	t.live.SetDeadline(at)
}

// Next returns the next record that is let through.
func (t *tailed) Next(ev *reader.Event) error {
	for n := 1; len(t.ready) == 0; n++ {
		if n%256 == 0 && !t.deadline.IsZero() && !time.Now().Before(t.deadline) {
			return os.ErrDeadlineExceeded // the reader's is for the next record that is not ready
		}
		if err := t.live.Next(ev); err != nil {
			return err
		}
		passed := false
		err := t.buffer.Add(ev, func(through *reader.Event) error {
			if passed = through == ev; !passed || len(t.ready) > 0 {
				t.ready = append(t.ready, through.Clone())
			}
			return nil
		})
		if err != nil || passed && len(t.ready) == 0 {
			return err
		}
	}
	*ev = *t.ready[0]
	t.ready[0] = nil
	t.ready = t.ready[1:]
	return nil
}

// heldBack returns the counts of the records that a reader has not let through.
func heldBack(r live) []count {
	t, ok := r.(*tailed)
	if !ok {
		return nil
	}
	st := t.buffer.Stats()
	return []count{
		{st.Expired, "dropped after --window"}, {st.Evicted, "dropped as --hold was full"}, {st.Without, "without --same"},
		{uint64(st.Held), "held"}, {uint64(len(t.ready)), "not shown"},
	}
}
