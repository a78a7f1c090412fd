package main

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// bar is a figure that the project set out to reach.
type bar struct {
	what   string
	figure string
	// most is what it may cost: so much, and factor times another figure.
	most   float64
	factor float64
	of     string
	why    string // where it is not reached, what the floor is
}

var bars = []bar{
	{
		what: "a struct event of two texts and three numbers, encoded", figure: "encode/typed:Plan/TwoStrings", most: 250,
		why: "each text is also searched for backslashes, so that escapes are reversible",
	},
	{
		what: "the same with three texts", figure: "encode/typed:Plan/HTTPRequest", most: 250,
		why: "of what a text costs, two fifths are the test for control characters",
	},
	{what: "five slog attributes as JSON", figure: "encode/attrjson:FiveAttrs", most: 1100},
	{
		what: "EventHeader, five fields of a schema", figure: "encode/eventheader:RecordFiveFields", most: 500,
		why: "a text that is not printable is escaped, and the test for that takes a call for each text",
	},
	{
		what: "EventHeader, five fields without one", figure: "encode/eventheader:EncoderFiveFields", most: 1200,
		why: "the same, and for the names of the fields",
	},
	{what: "`sloghandler` off: `slog.DiscardHandler` and 10", figure: "sloghandler:Kernel/off", most: 10, factor: 1, of: "sloghandler:Kernel/discard"},
	{
		what: "`sloghandler` on", figure: "sloghandler:Kernel/ftrace", most: 6200,
		why: "slog's own part and the system call are two thirds of it; of the rest the JSON is half",
	},
	{
		what: "`sloghandler` on: half of `slog.JSONHandler` to /dev/null", figure: "sloghandler:Kernel/ftrace", factor: 0.5, of: "sloghandler:Kernel/json",
		why: "the same",
	},
	{what: "`ueventstrace`'s provider off: a span without options", figure: "exporter/ueventstrace:Kernel/off/gated/bare", most: 150},
	{
		what: "`ueventstrace` on: the SDK with an exporter that does nothing, two raw writes, and 2,500", figure: "SpanOn/ueventstrace/two",
		most: 2500 + 2*rawWrite, factor: 1, of: "SpanOn/discard-exporter/two",
	},
}

// rawWrite is what one event took when the bars were set.
const rawWrite = 1700

// barTable makes a row for each bar.
func barTable(all *runs) (string, error) {
	var b strings.Builder
	for _, bar := range bars {
		most, err := bar.limit(all.counted)
		if err != nil {
			return "", err
		}
		v, err := cost(all.counted, bar.figure)
		if err != nil {
			return "", err
		}
		verdict := "reached"
		if v > most {
			if bar.why == "" {
				return "", fmt.Errorf("%s takes %g, more than %g: say why", bar.figure, v, most)
			}
			verdict = "missed by " + thousands(v-most) + ": " + bar.why
		}
		row(&b, []string{bar.what, thousands(most), thousands(v), verdict})
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func (b bar) limit(run *figures.Run) (float64, error) {
	if b.of == "" {
		return b.most, nil
	}
	v, err := cost(run, b.of)
	return b.most + b.factor*v, err
}
