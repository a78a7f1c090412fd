package ueventstrace

// Stats counts what became of the records of an event. Calls while the event is disabled are not counted: NAME_span_start
// counts a span if it is enabled when the span starts, NAME_span and the others if they are enabled when it ends, or when an
// [Exporter] exports it; NAME_slice counts both ends. So a span that starts while they are enabled, and ends after the last tool
// detached, is not in the counts of NAME_span. Those of a [TracerProvider] have only spans that also started while any of its events
// was enabled.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones of which texts or attributes were cut or dropped to fit the limit
	Disabled  uint64 // the event was disabled between the enabled check and the system call
	Refused   uint64 // by the kernel, or above the limit, or a slice that was dropped, see [WithPerfettoSlices]
}

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.events))
	for name, n := range s.Stats() {
		stats[name] = Stats(n)
	}
	return stats
}
