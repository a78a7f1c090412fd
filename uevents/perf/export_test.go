package perf

// WithoutLostCounts makes a session work as before Linux 6.0. Nothing may be attached yet.
func (s *Session) WithoutLostCounts() { s.noLost = true }

// Look is what the session does by itself every Options.Poll.
func (s *Session) Look() { s.look() }
