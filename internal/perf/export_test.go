package perf

// WithoutLostCounts makes a session work as before Linux 6.0. Call it before Attach.
func (s *Session) WithoutLostCounts() { s.noLost = true }

// Waiting reports whether ReadInto waits for the kernel.
func (s *Session) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Look polls once; the session polls itself every Options.Poll.
func (s *Session) Look() { s.look() }

// Stats returns the counts of a source, also of one that Session.Stats only has in a sum.
func (src *Source) Stats() (SourceStats, error) {
	s := src.session
	_, err := s.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	return src.stats(), err
}
