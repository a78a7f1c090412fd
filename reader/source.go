package reader

// Source says what writes the tracepoint, as far as its fields tell: "slog", "slog, declared", "OpenTelemetry log",
// "OpenTelemetry log, declared", "OpenTelemetry span" and so on for the kinds of spans and metrics, "EventHeader", or "" for
// fields of any other meaning. Two programs that write the same fields are the same source.
func (d *Decoder) Source() string {
	if d.isHeader {
		return "EventHeader"
	}
	switch d.layout {
	case nil:
		return ""
	case slogLevel:
		return "slog"
	case slogDeclared:
		return "slog, declared"
	case otelDeclared:
		return "OpenTelemetry log, declared"
	}
	return "OpenTelemetry " + d.layout.kind.String()
}
