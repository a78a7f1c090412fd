package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/reader"
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

// addConditions adds the flags.
func (f *conditionFlags) addConditions(e *env, cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flags = flags
	flags.StringArrayVarP(&f.where, "where", "w", nil, "only records that meet a `CONDITION`, such as 'status >= 500 and duration > 100ms': see uevents help where")
	flags.StringVar(&f.level, "level", "", "only log records of a `LEVEL` or above: trace, debug, info, warn, error or fatal; with --kind, of the other kinds all records")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only records of these `KINDS`: "+strings.Join(kindNames(), ", "))
	flags.StringSliceVar(&f.programs, "program", nil, "only records of programs of this `NAME`, which may have *, ? and [a-z]")
	f.workloads.add(cmd)
	e.completePrograms(cmd, "program", false)
	completeFlag(cmd, "level", levelNames()...)
	completeFlag(cmd, "kind", kindNames()...)
}

// kindNames are the kinds of records as the command line has them, as one word.
func kindNames() (names []string) {
	for k := reader.KindOther; k <= reader.KindMetric; k++ {
		names = append(names, strings.ReplaceAll(k.String(), " ", "_"))
	}
	return append(names[1:], names[0])
}

func levelNames() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

// condition returns the condition of all flags, nil if there are none. Errors are usage errors.
func (f *conditionFlags) condition(more ...string) (*reader.Condition, error) {
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
		parts = append(parts, c.String())
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
		parts = append(parts, "kind in ("+strings.Join(kinds, ", ")+")")
	}
	if f.level != "" {
		if _, err := reader.ParseSeverity(f.level); err != nil {
			return nil, usageError{fmt.Errorf("--level: %q is none of %s", f.level, strings.Join(levelNames(), ", "))}
		}
		of := "level >= " + f.level
		if len(f.kinds) > 0 {
			of = "kind != log or " + of
		}
		parts = append(parts, of)
	}
	if len(f.programs) > 0 {
		var of []string
		for _, name := range f.programs {
			c, err := nameCondition("program", name)
			if err != nil {
				return nil, usageError{fmt.Errorf("--program: %w", err)}
			}
			of = append(of, c)
		}
		parts = append(parts, strings.Join(of, " or "))
	}
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		return parseCondition("the condition", parts[0])
	}
	return parseCondition("the condition", "("+strings.Join(parts, ") and (")+")")
}

// pidCondition returns the condition of records that processes have written; none if there are no processes.
func pidCondition(pids []int) []string {
	if len(pids) == 0 {
		return nil
	}
	var list []string
	for _, pid := range pids {
		list = append(list, strconv.Itoa(pid))
	}
	return []string{"pid in (" + strings.Join(list, ", ") + ")"}
}

// quoteValue returns a text in quotes, as conditions have it.
func quoteValue(s string) (string, error) {
	for _, q := range []string{`"`, "'", "`"} {
		if !strings.Contains(s, q) {
			return q + s + q, nil
		}
	}
	return "", fmt.Errorf("%q has all kinds of quotes", s)
}

// parseCondition parses a condition of the command line. The error shows the place.
func parseCondition(flag, text string) (*reader.Condition, error) {
	c, err := reader.ParseCondition(text)
	wrong, ok := errors.AsType[*reader.ConditionError](err)
	if !ok {
		return c, err
	}
	return nil, usageError{fmt.Errorf("%s: %s\n%s", flag, cutAround([]rune(wrong.Problem), 0, 200), showPlace(wrong.Text, wrong.At))}
}

// placeWidth is how many characters of a condition an error shows.
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
