package reader

// Kind is the kind of an [Event]. The fields of the record determine it, never the name of the tracepoint: see
// docs/wire-formats.md.
type Kind uint8

// The kinds of events.
const (
	KindOther     Kind = iota // none of the others, such as the kernel's own tracepoints
	KindLog                   // a log record
	KindSpan                  // an ended span
	KindSpanStart             // a started span
	KindSpanEvent             // an event of a span, in a record of its own
	KindSpanLink              // a link of a span, in a record of its own
	KindMetric                // a data point, an exemplar, or an OTLP request with several points
)

var kindNames = [...]string{"other", "log", "span", "span start", "span event", "span link", "metric"}

// String returns the name of the kind, such as "span start".
func (k Kind) String() string { return name(kindNames[:], k) }

// SpanKind is OpenTelemetry's kind of a span, with the numbers of its protocol.
type SpanKind uint8

// The kinds of spans.
const (
	SpanKindUnspecified SpanKind = iota
	SpanKindInternal
	SpanKindServer
	SpanKindClient
	SpanKindProducer
	SpanKindConsumer
)

var spanKindNames = [...]string{"unspecified", "internal", "server", "client", "producer", "consumer"}

// String returns the name of the kind, such as "server".
func (k SpanKind) String() string { return name(spanKindNames[:], k) }

// Status is the status of a span, with the numbers of OpenTelemetry's protocol.
type Status uint8

// The statuses of spans.
const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

var statusNames = [...]string{"unset", "ok", "error"}

// String returns the name of the status, such as "error".
func (s Status) String() string { return name(statusNames[:], s) }

// name returns the name of a number that a program wrote. The first name is the one for unknown numbers.
func name[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return names[0]
}
