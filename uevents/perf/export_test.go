package perf

// WithoutLostCounts makes a session work as before Linux 6.0. Call it before Attach.
func (s *Session) WithoutLostCounts() { s.noLost = true }

// Look polls once; the session polls itself every Options.Poll.
func (s *Session) Look() { s.look() }
