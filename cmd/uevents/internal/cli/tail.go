package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

type tailFlags struct {
	when, same, hold string
	window           time.Duration

	flags *pflag.FlagSet
	o     *tail.Options // of the flags, after parse; nil without --when

	symbols *symbols.Table // of stacks; nil without them
}

const tailHelp = `--when 'level >= error' shows the traces that have an error, and of these all records: those
of the last 10 s (--window) at once, further ones for 10 s more. --same request_id goes by
that attribute in place of the trace_id. The other conditions select the records that --when
sees. What it drops is counted at the end, and so is what a full --hold made it drop.`

func (f *tailFlags) add(cmd *cobra.Command, hold string) {
	f.flags = cmd.Flags()
	f.flags.StringVar(&f.when, "when", "", "only records that share the value of --same with one that meets a `CONDITION`, such as 'level >= error'")
	f.flags.StringVar(&f.same, "same", "trace_id", "`NAME` whose value the records of --when share")
	f.flags.DurationVar(&f.window, "window", tail.DefaultWindow, "`TIME` for which --when holds records, and shows further ones")
	f.flags.StringVar(&f.hold, "hold", hold, "`SIZE` of the memory for records that --when holds")
	completeFlag(cmd, "same", where.Names()...)
}

func (f *tailFlags) given(name string) bool { return f.flags != nil && f.flags.Changed(name) }

// parse reads the flags. Errors are usage errors.
func (f *tailFlags) parse() (err error) {
	fail := func(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
	if !f.given("when") {
		for _, name := range []string{"same", "window", "hold"} {
			if f.given(name) {
				return fail("--%s is for --when, which is missing", name)
			}
		}
		return nil
	}
	o := &tail.Options{By: f.same, Window: f.window}
	if o.When, err = parseCondition("--when", f.when); err != nil {
		return err
	}
	if o.Bytes, err = output.ParseSize(f.hold); err != nil {
		return fail("--hold: %w", err)
	}
	switch {
	case f.window <= 0:
		return fail("--window must be positive")
	case f.same == "":
		return fail("--same has an empty value")
	case o.Bytes < tail.MinBytes:
		return fail("--hold must be %dM or more", tail.MinBytes>>20)
	}
	if _, err := where.Parse("has(" + f.same + ")"); err != nil {
		return fail("--same: %q is no name", f.same)
	}
	f.o = o
	return nil
}

// sayLimited says that a limit comes before.
func (f *tailFlags) sayLimited(e *env, o *reader.Options) {
	if f.o != nil && o.Limit > 0 {
		e.say("! --limit comes before --when: of a request, records can be missing")
	}
}

// open opens what the flags select: a reader that holds records, or without --when one that does not.
func (f *tailFlags) open(e *env, o *reader.Options) (live, error) {
	r, err := e.open(o)
	if err != nil || f.o == nil {
		return r, err
	}
	t := &tailed{live: r, symbols: f.symbols}
	t.buffer, err = tail.New(*f.o)
	return t, err
}

type tailed struct {
	live

	buffer   *tail.Buffer
	symbols  *symbols.Table // nil without stacks
	ev       record.Record  // the one that was added last
	deadline time.Time
}

func (t *tailed) SetDeadline(at time.Time) {
	t.deadline = at
	t.live.SetDeadline(at)
}

func (t *tailed) Next(ev *record.Record) error {
	for n := 1; ; n++ {
		if through := t.buffer.Next(); through != nil {
			*ev = *through
			return nil
		}
		if n%256 == 0 && !t.deadline.IsZero() && !time.Now().Before(t.deadline) {
			return os.ErrDeadlineExceeded // the reader's is for the next record that is not ready
		}
		if err := t.live.Next(&t.ev); err != nil {
			return err
		}
		if t.symbols != nil {
			t.symbols.Stack(&t.ev) // the table keeps the names, also if the process ends while the record is held
		}
		t.buffer.Add(&t.ev)
	}
}

// bufferOf returns the Buffer of a reader, nil without --when.
func bufferOf(r live) *tail.Buffer {
	if t, ok := r.(*tailed); ok {
		return t.buffer
	}
	return nil
}

// sayEvicted says that a command may have missed records as a Buffer was too small.
func (e *env) sayEvicted(b *tail.Buffer) {
	if b == nil || b.Stats().Evicted == 0 {
		return
	}
	e.say("! %s were dropped as --hold was full: those of failed requests may be among them", output.Plural(b.Stats().Evicted, "record"))
}

// heldBack returns the counts of the records that a Buffer has not let through.
func heldBack(b *tail.Buffer) []count {
	if b == nil {
		return nil
	}
	st := b.Stats()
	return []count{
		{st.Expired, "dropped after --window"}, {st.Evicted, "dropped as --hold was full"}, {st.Without, "without " + text.Printable(b.Options().By)}, {uint64(st.Held), "still held"},
	}
}
