package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/reader"
)

// newWhereTopic returns the help topic about conditions. It has the names that package reader knows.
func newWhereTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "where",
		Short: "The conditions of --where and --trigger",
		Long: `A condition selects records: NAME OPERATOR VALUE, joined by and, or, not and parentheses.
It means the same for live records and recordings, for the kernel's events and programs in
shared memory. The kernel evaluates what it can, and uevents the rest: --explain says which.

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

A record that lacks the name meets no comparison with it, != and not in included. level == warn
means WARN to WARN4. A list meets a comparison if an element does; != and not in if none is
equal.

NAME is an attribute, such as status, http.route or db.table (also of the group db), or a
part of the record. What only some kinds of records have, such as the status of spans, is an
attribute's name in the others. fields.NAME and resource.NAME are attributes, whatever the
part of that name. A name with other characters needs quotes. The message of a declared record
is the name of its event; the record decides for its copy in the event of its level. unit == x
means x.service. Of a program in shared memory, comm is the name that it had when uevents found
it; thread and CPU are not known.
Recordings of perf record have no more of a program than the 15 bytes of its comm. Parts:
` + columnsOf(reader.ConditionNames()) + "\n\n" + workloadHelp,
	}
}

// columnsOf returns names as lines of text.
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
