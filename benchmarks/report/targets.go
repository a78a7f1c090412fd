package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

// target is a performance target: a limit for a figure.
type target struct {
	what   string
	figure string
	// The limit is most, and factor times the figure of, and half of what was measured first.
	most   float64
	first  float64
	factor float64
	of     string
	// allocations says that the target limits allocations instead of instructions.
	allocations bool
	// why says what keeps the figure above the limit, as a template. Only a target that is reached needs none.
	why string
}

var targets = []target{
	{
		what: "a struct event of two texts and three numbers, encoded", figure: "internal/typedfield:Plan/TwoStrings", most: 250,
		why: "each text is also searched for backslashes, so that escapes are reversible",
	},
	{
		what: "the same with three texts", figure: "internal/typedfield:Plan/HTTPRequest", most: 250,
		why: "each text is searched for control characters",
	},
	{what: "five slog attributes as JSON", figure: "internal/attrjson:FiveAttrs", most: 1100},
	{
		what: "EventHeader, five fields", figure: "encode/eventheader:EncoderFiveFields", most: 1200,
		why: "the same test, and names of fields are tested too",
	},
	{
		what: "`sloghandler`, disabled: `slog.DiscardHandler` and 2", figure: "sloghandler:Kernel/off",
		most: 2, factor: 1, of: "sloghandler:Kernel/discard",
	},
	{
		what: "the same with a declared record", figure: "sloghandler:Kernel/declared/off",
		most: 2, factor: 1, of: "sloghandler:Kernel/discard",
	},
	{
		what: "`sloghandler`, enabled", figure: "sloghandler:Kernel/ftrace", most: 6000,
		why: `slog's own part is {{n "sloghandler:Kernel/accepting"}}, the write of an event {{n "Write/bytes=256"}}, the JSON of the attributes {{n "internal/attrjson:FiveAttrs"}}`,
	},
	{
		what: "`sloghandler`, enabled: half of `slog.JSONHandler` to /dev/null", figure: "sloghandler:Kernel/ftrace",
		factor: 0.5, of: "sloghandler:Kernel/json",
		why: "the same",
	},
	{
		what: "`sloghandler`, enabled, declared record", figure: "sloghandler:Kernel/declared/ftrace", most: 6400,
		why: "the handler looks up each attribute by its name, and asks slog for the kind and value of each; `Declaration.Logger` does not",
	},
	{what: "`sloghandler`, enabled, declared record logged directly", figure: "On/sloghandler-direct/five", most: 3900},
	{
		what: "the logger of a request, enabled: `slog.JSONHandler` to io.Discard", figure: "Request/sloghandler/on",
		factor: 1, of: "Request/slog-json/on",
	},
	{
		what: "its allocations: those of `slog.JSONHandler`", figure: "Request/sloghandler/on",
		factor: 1, of: "Request/slog-json/on", allocations: true,
		why: "the first record encodes the bound attributes, and keeps the JSON for the next",
	},
	{
		what: "allocations of `With` of an error, disabled: `slog.DiscardHandler` and 2", figure: "Request/sloghandler/error",
		most: 2, factor: 1, of: "Request/slog-discard/error", allocations: true,
		why: "the handler fixes the value by encoding it when the logger is made",
	},
	{
		what: "otelslog with `ueventslog.LoggerProvider`, five attributes", figure: "On/otelslog-ueventslog/five", most: 12_500,
		why: writesOfLog,
	},
	{
		what: "the same with ten", figure: "On/otelslog-ueventslog/ten", most: 22_500,
		why: writesOfLog,
	},
	{
		what: "`ueventstrace.TracerProvider`, disabled, a span without options", figure: "SpanOff/ueventstrace/none", most: 150,
		why: spanInContext,
	},
	{what: "its allocations", figure: "SpanOff/ueventstrace/none", allocations: true, why: spanInContext},
	{what: "allocations where the caller asks for the tracer of each span", figure: "SpanOff/ueventstrace/each", allocations: true, why: spanInContext},
	{
		what: "`ueventstrace.TracerProvider`, a span with two attributes, `_span` attached", figure: "SpanOn/ueventstrace/two", most: 5200,
		why: writesOfSpan,
	},
	{
		what: "the same, `_span` and `_span_start` attached", figure: "SpanOn/ueventstrace-start/two", most: 7500,
		why: writesOfSpan,
	},
	{
		what: "the SDK with `ueventstrace.Processor`, a span with two attributes, `_span` attached", figure: "SpanOn/ueventstrace-processor/two", most: 11_500,
		why: `the SDK with a processor that does nothing takes {{n "SpanOn/noop-processor/two"}}, the write of an event {{n "Write/bytes=256"}}`,
	},
	{
		what: "shared memory, a record of 300 bytes, encoded before", figure: "Memory/opaque/tools=1", most: 400,
		why: "a write is also checked, and counted when it begins and ends: for `Stats`, and so that `Close` waits for no writer",
	},
	{
		what: "a second tool in addition", figure: "Memory/opaque/tools=2", most: 230, factor: 1, of: "Memory/opaque/tools=1",
		why: "a record takes its room in the rings of all tools before the clock is read once for all",
	},
	{
		what: "a third", figure: "Memory/opaque/tools=3", most: 230, factor: 1, of: "Memory/opaque/tools=2",
		why: "the same",
	},
	{
		what: "a record that finds no room", figure: "Memory/opaque/full", most: 100,
		why: "the same counts, and that of lost records, which is exact also when the tool leaves meanwhile",
	},
	{what: "shared memory, `sloghandler`", figure: "Memory/sloghandler", most: 5300, why: writesOfMemory},
	{what: "declared record logged directly", figure: "Memory/sloghandler-direct", most: 2050, why: writesOfMemory},
	{what: "a struct event", figure: "Memory/structevent", most: 1000, why: writesOfMemory},
	{
		what: "`ueventstrace.TracerProvider`, a span with two attributes", figure: "Memory/ueventstrace", most: 5900,
		why: writesOfMemory + `, and a span that is not recorded {{n "SpanOff/ueventstrace/two"}}`,
	},
	{
		what: "`uevents watch -o json`, a record", figure: "cmd/uevents/internal/cli:Read/watch-json", first: 14_390,
	},
	{
		what: "`uevents record`, JSON lines, a record", figure: "cmd/uevents/internal/cli:Read/record-jsonl", first: 15_419,
	},
	{
		what: "`uevents record`, perf.data, a record", figure: "cmd/uevents/internal/cli:Read/record-perf.data", first: 2191,
		why: "the kernel copies each record into pages of the file, and the command out of the ring and into its buffer, orders it by time and looks up its process",
	},
	{
		what: "a write while `uevents watch` reads: 1.1 times that under `perf record`", figure: "cmd/uevents/internal/cli:Writer/watch",
		factor: 1.1, of: "cmd/uevents/internal/cli:Writer/perf-record",
	},
	{
		what: "a write while `uevents record` reads: the same", figure: "cmd/uevents/internal/cli:Writer/record",
		factor: 1.1, of: "cmd/uevents/internal/cli:Writer/perf-record",
	},
	{
		what: "a write while `uevents flight` is armed with a condition: the same", figure: "cmd/uevents/internal/cli:Writer/flight-trigger",
		factor: 1.1, of: "cmd/uevents/internal/cli:Writer/perf-record",
	},
}

// writesOfLog are the necessary parts of writing a log record.
const writesOfLog = `slog's own part is {{n "sloghandler:Kernel/accepting"}}, the write of an event {{n "Write/bytes=256"}}`

// spanInContext says why a span allocates while no tool is attached.
const spanInContext = `a tool that attaches later gets the events of the span, which is in the context for that; OpenTelemetry's no-op tracer takes {{n "SpanOff/noop/none"}} and one allocation`

// writesOfSpan are the necessary parts of writing a span.
const writesOfSpan = `a span that is not recorded takes {{n "SpanOff/ueventstrace/two"}}, the write of an event {{n "Write/bytes=256"}}`

// writesOfMemory is the part of a call that does not depend on what it encodes.
const writesOfMemory = `a record of 300 bytes that was encoded before takes {{n "Memory/opaque/tools=1"}}`

// targetTable returns a row for each target.
func targetTable(run *figures.Run, targets []target) (string, error) {
	var b strings.Builder
	for _, t := range targets {
		v, err := t.value(run, t.figure)
		if err != nil {
			return "", err
		}
		most, what := t.most, t.what
		if t.first > 0 {
			most += t.first / 2
			what += ": half of the first measurement, " + t.text(t.first)
		}
		if t.of != "" {
			of, err := t.value(run, t.of)
			if err != nil {
				return "", err
			}
			most += t.factor * of
		}
		verdict := "reached"
		if v > most {
			if t.why == "" {
				return "", fmt.Errorf("%s is %s, more than %s: say why", t.figure, t.text(v), t.text(most))
			}
			why, err := fill(t.why, template.FuncMap{"n": number(run)})
			if err != nil {
				return "", err
			}
			verdict = "missed by " + t.text(v-most) + ": " + why
		}
		row(&b, []string{what, t.text(most), t.text(v), verdict})
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// value returns what the target limits of a figure.
func (t target) value(run *figures.Run, name string) (float64, error) {
	f, err := find(run, name)
	if t.allocations {
		return f.Allocs, err
	}
	return f.Cost, err
}

func (t target) text(v float64) string {
	if t.allocations {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return thousands(v)
}
