package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tool/tail"
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
