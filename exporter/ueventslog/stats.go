package ueventslog

import "github.com/userevents/userevents-go/uevents"

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]uevents.EventStats {
	stats := s.Stats()
	for _, r := range s.records {
		if r.Event != nil {
			n := stats[r.Name()]
			n.Unconverted = r.unconverted.Load()
			stats[r.Name()] = n
		}
	}
	return stats
}
