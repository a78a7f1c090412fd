package ueventstrace

// Stats counts what became of the records of an event. Spans that start and end while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the records that were cut to fit
	Disabled  uint64 // the event was disabled while the record was made
	Refused   uint64 // by the kernel, or it could not be encoded, or it was too much for slices, see [WithPerfettoSlices]
}

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.events))
	for name, n := range s.Stats() {
		stats[name] = Stats(n)
	}
	return stats
}
