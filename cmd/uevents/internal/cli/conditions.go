package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// conditionFlags select records by what they say. All that are given must hold.
type conditionFlags struct {
	where           []string
	flags           *pflag.FlagSet
	level           string
	kinds, programs []string
	workloads       workloadFlags
}

// conditionHelp is the part on conditions in the help of commands. uevents help where has the rest.
const conditionHelp = `--where takes conditions on the parts of records and on their attributes, the same for live records
and recordings (see uevents help where):
  status >= 500 and not (http.route ~ "/health*")
  duration > 100ms or message =~ "(?i)timeout"`

func (f *conditionFlags) addConditions(e *env, cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flags = flags
	flags.StringArrayVarP(&f.where, "where", "w", nil, "only records that meet a `CONDITION`, such as 'status >= 500 and duration > 100ms': see uevents help where")
	flags.StringVar(&f.level, "level", "", "only records of a `LEVEL` or above: trace, debug, info, warn, error or fatal. Spans and metrics are of info; a record without a level is of every level")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only records of these `KINDS`: "+strings.Join(kindNames(), ", "))
	flags.StringSliceVar(&f.programs, "program", nil, "only records of programs of this `NAME`, which may have *, ? and [a-z]")
	f.workloads.add(cmd)
	e.completePrograms(cmd, "program", false)
	completeFlag(cmd, "level", levelNames()...)
	completeFlag(cmd, "kind", kindNames()...)
}

// kindNames are the kinds of records as the command line has them, as one word.
func kindNames() (names []string) {
	for k := record.KindOther; k <= record.KindMetric; k++ {
		names = append(names, strings.ReplaceAll(k.String(), " ", "_"))
	}
	return append(names[1:], names[0])
}

func levelNames() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

// condition returns the condition of all flags and of more, nil if there are none. Errors are usage errors.
func (f *conditionFlags) condition(more ...*where.Condition) (*where.Condition, error) {
	if f.flags != nil {
		if err := checkEmpty(f.flags); err != nil {
			return nil, err
		}
	}
	parts, err := f.workloads.conditions()
	if err != nil {
		return nil, err
	}
	parts = append(parts, more...)
	for _, text := range f.where {
		c, err := parseCondition("--where", text)
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	var kinds []string
	for _, kind := range f.kinds {
		name := strings.Join(strings.Fields(strings.ToLower(kind)), "_")
		if !slices.Contains(kindNames(), name) {
			return nil, usageError{fmt.Errorf("--kind: %q is none of %s", kind, strings.Join(kindNames(), ", "))}
		}
		kinds = append(kinds, name)
	}
	if len(kinds) > 0 {
		parts = append(parts, mustParse("kind in ("+strings.Join(kinds, ", ")+")"))
	}
	if f.level != "" {
		least, err := record.ParseSeverity(f.level)
		if err != nil {
			return nil, usageError{fmt.Errorf("--level: %q is none of %s", f.level, strings.Join(levelNames(), ", "))}
		}
		parts = append(parts, where.Level(least))
	}
	programs, err := anyOfNames(f.programs, func(name string) (*where.Condition, error) {
		c, err := nameCondition("program", name)
		if err != nil {
			err = fmt.Errorf("--program: %w", err)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	return where.And(append(parts, programs)...), nil
}

// anyOfNames returns the condition that one of those of names holds; nil without names. Errors are usage errors.
func anyOfNames(names []string, of func(name string) (*where.Condition, error)) (*where.Condition, error) {
	var list []*where.Condition
	for _, name := range names {
		c, err := of(name)
		if err != nil {
			return nil, usageError{err}
		}
		list = append(list, c)
	}
	return anyOf(list), nil
}

// anyOf returns the condition that one of a list holds; nil of none.
func anyOf(list []*where.Condition) *where.Condition {
	if len(list) == 0 {
		return nil
	}
	return where.Or(list...)
}

// oneOf returns the condition that a part of records is one of many words, nil if there are none.
func oneOf(part string, words []string) *where.Condition {
	var list []*where.Condition
	for words := range slices.Chunk(words, mostWords) {
		list = append(list, mustParse(part+" in ("+strings.Join(words, ", ")+")"))
	}
	return anyOf(list)
}

// mostWords is how many values a comparison takes.
const mostWords = 500

// mustParse parses a condition that is right.
func mustParse(text string) *where.Condition {
	c, err := where.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func quoteValue(s string) (string, error) {
	for _, q := range []string{`"`, "'", "`"} {
		if !strings.Contains(s, q) {
			return q + s + q, nil
		}
	}
	return "", fmt.Errorf("%q has all kinds of quotes", s)
}

// parseCondition parses a condition of the command line. The error shows the place.
func parseCondition(flag, text string) (*where.Condition, error) {
	c, err := where.Parse(text)
	wrong, ok := errors.AsType[*where.Error](err)
	if !ok {
		return c, err
	}
	return nil, usageError{fmt.Errorf("%s: %s\n%s", flag, cutAround([]rune(wrong.Problem), 0, 200), showPlace(text, wrong.At))}
}

const placeWidth = 70

// showPlace returns a line with a condition, and one with a mark below the byte at an offset. Of a long condition it is what is around it.
func showPlace(condition string, at int) string {
	spaced := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, condition)
	place := utf8.RuneCountInString(condition[:at])
	from := max(0, min(place-placeWidth/2, utf8.RuneCountInString(spaced)-placeWidth))
	column := place - from
	if from > 0 {
		column += len(cut)
	}
	return fmt.Sprintf("  %s\n  %*s", cutAround([]rune(spaced), from, placeWidth), column+1, "^")
}

// cut stands for what is not shown of a text.
const cut = "..."

// cutAround returns width characters of a text from one on, with a mark on the sides where there are more.
func cutAround(text []rune, from, width int) string {
	before, after, to := "", "", min(len(text), from+width)
	if from > 0 {
		before = cut
	}
	if to < len(text) {
		after = cut
	}
	return before + string(text[from:to]) + after
}

// newWhereTopic returns the help topic about conditions. It has the names that package reader knows.
func newWhereTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "where",
		Short: "The conditions of --where and --trigger",
		Long: `A condition selects records: NAME OPERATOR VALUE, joined by and, or, not and parentheses.
It means the same for live records and recordings, for the kernel's events and programs in
shared memory. The kernel evaluates what it can, and uevents the rest: watch --explain says which.

  level >= warn and not (http.route ~ "/health*")
  status >= 500 or duration > 100ms
  kind == span and has(db.table) and message =~ "(?i)timeout"
  trace_id == 4bf92f3577b34da6a3ce929d0e0e4736      or its beginning, as text shows it
  program in (checkout, "payment service")

Operators:
  ==  !=          equal, not equal; = is ==
  <  <=  >  >=    of numbers, times and levels
  ~               the whole text matches a pattern with *, ? and [a-z]; \ takes their meaning
  =~              a part of the text matches a regular expression (Go's, RE2)
  in (A, B)       equal to one of these; not in
  &               a bit of the number is set
  has(NAME)       the record has the name
  and or not      also && || !

A VALUE is a number, a time with its unit (10ms, 1.5s), a word, or a text in quotes of one of
three kinds: " ' and the backquote. Texts are compared as uevents prints them. A time is
compared with nanoseconds, or in the unit that the name ends in: _us, _ms, _s.

A record that lacks the name meets no comparison with it, != and not in included. A number that
is 0, status unset and parent_remote false are no lack; an empty text is. level == warn means
WARN to WARN4. A list meets a comparison if an element does; != and not in if none is
equal.

NAME is an attribute, such as status, http.route or db.table (also of the group db), or a
part of the record. What only some kinds of records have, such as the status of spans, is an
attribute's name in the others. fields.NAME and resource.NAME are attributes, whatever the
part of that name. A name with other characters needs quotes. The message of a declared record
is the name of its event; the record decides for its copy in the event of its level. unit == x
means x.service. Of a program in shared memory, comm is the name that it had when uevents found
it; thread and CPU are not known.
Recordings of perf record have no more of a program than the 15 bytes of its comm. Parts:
` + columnsOf(where.Names()) + "\n\n" + workloadHelp,
	}
}

func columnsOf(names []string) string {
	var b strings.Builder
	line := " "
	for _, name := range names {
		if len(line)+1+len(name) > 92 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + name
	}
	return b.String() + line
}
