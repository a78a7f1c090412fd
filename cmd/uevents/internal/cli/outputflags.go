package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
)

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

// sayUnseen says which fields of --fields none of the shown records has.
func (e *env) sayUnseen(u output.Unseen, shown uint64) {
	names := u.Names()
	if shown == 0 || len(names) == 0 {
		return
	}
	e.say("! no record has %s: see uevents help json, and uevents show NAME for the fields of an event%s", text.Printable(listed(names)), e.meant(output.ColumnNames(), names...))
}

// grep selects records by their line of text, with whole ids. nil selects all.
type grep struct {
	re     *regexp.Regexp
	line   bytes.Buffer
	writer output.Writer
}

// newGrep returns nil without an expression. Errors are usage errors.
func (f *outputFlags) newGrep(e *env) (*grep, error) {
	if f.grep == "" {
		return nil, nil
	}
	re, err := regexp.Compile(f.grep)
	if err != nil {
		return nil, usageError{fmt.Errorf("--grep: %w", err)}
	}
	o, err := f.textOptions(e)
	if err != nil {
		return nil, err
	}
	o.Whole = true
	g := &grep{re: re}
	g.writer, err = output.New("text", &g.line, o)
	return g, err
}

func (g *grep) matches(ev *record.Record) bool {
	if g == nil {
		return true
	}
	g.line.Reset()
	_ = g.writer.Write(ev)                                            // writing to memory does not fail
	return g.re.Match(bytes.TrimSuffix(g.line.Bytes(), []byte{'\n'})) // so that $ is its end
}

// printer writes records to standard output: those that --grep and -n select.
type printer struct {
	writer output.Writer
	out    *bufio.Writer
	grep   *grep
	unseen output.Unseen
	limit  uint64 // of records; 0 means none

	shown     uint64
	unmatched uint64 // excluded by --grep
}

// newPrinter returns the printer of the flags. stack is nil without stacks. Errors are usage errors.
func (f *outputFlags) newPrinter(e *env, w io.Writer, stack *symbols.Table) (p printer, err error) {
	p = printer{out: bufio.NewWriterSize(w, 64<<10), unseen: output.NewUnseen(f.format, f.names()), limit: f.count}
	o, err := f.textOptions(e)
	if err != nil {
		return p, err
	}
	o.Color, o.Fields, o.Stack = e.colored(), f.names(), stack
	if p.writer, err = output.New(f.format, p.out, o); err != nil {
		return p, usageError{err}
	}
	p.grep, err = f.newGrep(e)
	return p, err
}

// matches reports whether a record matches --grep, and counts those that do not.
func (p *printer) matches(ev *record.Record) bool {
	if p.grep.matches(ev) {
		return true
	}
	p.unmatched++
	return false
}

func (p *printer) full() bool { return p.limit > 0 && p.shown == p.limit }

// print writes a record. It returns errEnough after the last one.
func (p *printer) print(ev *record.Record) error {
	if err := p.writer.Write(ev); err != nil {
		return err
	}
	p.unseen.See(ev)
	if p.shown++; p.full() {
		return errEnough
	}
	return nil
}

func (p *printer) close() error { return errors.Join(p.writer.Close(), p.out.Flush()) }

func newJSONTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "json",
		Short: "The JSON objects of watch, record and replay",
		Long: `With -o json, each record is one JSON object on one line. Members that a record does not
have are left out. Later versions may add members; none changes its meaning.

` + output.JSONHelp() + `
A time is a text of RFC 3339 in UTC, always with nine digits of the second, so that times
sort as texts. An id is a text of lower-case hexadecimal digits.
Integers have all their digits, up to 64 bits. Bytes are base64. NaN and the infinities are texts.
Control characters and those that change the direction of text are escaped; bytes that
are not UTF-8 are characters from U+EF80 to U+EFFF.

An object of the kind lost says that the kernel lost count records of an event.`,
	}
}
