package ueventslog

// Stats counts what became of the log records of an event. Calls while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones of which texts or attributes were cut or dropped to fit the limit
	Disabled  uint64 // the event was disabled between the enabled check and the system call
	Refused   uint64 // by the kernel, or above the limit

	// Unconverted counts declared attributes with a value of another type, which are in the field attributes instead.
	Unconverted uint64
}

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]Stats {
	stats := map[string]Stats{}
	for name, n := range s.Stats() {
		stats[name] = Stats{Written: n.Written, Truncated: n.Truncated, Disabled: n.Disabled, Refused: n.Refused}
	}
	for _, r := range s.records {
		if r.Event != nil {
			n := stats[r.Name()]
			n.Unconverted = r.unconverted.Load()
			stats[r.Name()] = n
		}
	}
	return stats
}
