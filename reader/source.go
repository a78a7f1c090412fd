package reader

// Source returns the kind of library that writes the tracepoint, derived from its fields: "slog", "slog, declared",
// "OpenTelemetry log", "OpenTelemetry log, declared", "OpenTelemetry span" and so on for the kinds of spans and
// metrics, "EventHeader", or "" for unknown fields. Two libraries that write the same fields have the same source.
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
