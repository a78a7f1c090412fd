package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
)

// outputFlags are the flags of a command that shows records.
type outputFlags struct {
	format, time, grep string
	fields             []string
	count              uint64
	dates              bool // records can be of other days: they have their date then
}

func (f *outputFlags) addOutput(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.format, "output", "o", "text", "output `FORMAT`: text, json, raw or a template")
	flags.StringVar(&f.time, "time", "local", "`WAY` to write times in text: local, utc, delta (since the record before) or mono (since the machine started)")
	flags.StringSliceVarP(&f.fields, "fields", "f", nil, "show only these `FIELDS`, such as time,message,status")
	flags.StringVar(&f.grep, "grep", "", "only records whose line of text, with all digits of its ids, matches the regular expression `RE`")
	flags.Uint64VarP(&f.count, "count", "n", 0, "end after `N` records")
	completeFlag(cmd, "output", "text", "json", "raw")
	completeFlag(cmd, "time", "local", "utc", "delta", "mono")
	completeFlag(cmd, "fields", output.ColumnNames()...)
}

// names returns the names of --fields.
func (f *outputFlags) names() (names []string) {
	for _, name := range f.fields {
		if name = strings.TrimSpace(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// textOptions returns the options of lines of text. Errors are usage errors.
func (f *outputFlags) textOptions(e *env) (o output.Options, err error) {
	if o.Time, err = output.ParseTime(f.time); err != nil {
		return o, usageError{err}
	}
	if f.dates {
		o.Today = e.now()
	}
	return o, nil
}

// writer returns the writer of the flags. stack is nil without stacks. Errors are usage errors.
func (f *outputFlags) writer(e *env, w io.Writer, stack *symbols.Table) (output.Writer, error) {
	o, err := f.textOptions(e)
	if err != nil {
		return nil, err
	}
	o.Color, o.Fields, o.Stack = e.colored(), f.names(), stack
	out, err := output.New(f.format, w, o)
	if err != nil {
		return nil, usageError{err}
	}
	return out, nil
}

// sayUnseen says which fields of --fields none of the shown records has.
func (e *env) sayUnseen(u output.Unseen, shown uint64) {
	names := u.Names()
	if shown == 0 || len(names) == 0 {
		return
	}
	e.say("! no record has %s: see uevents help json, and uevents show NAME for the fields of an event%s", text.Printable(listed(names)), e.meant(output.ColumnNames(), names...))
}
