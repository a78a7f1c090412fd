package usereventsreceiver

import (
	"sync"

	"go.opentelemetry.io/collector/receiver"
)

// shared has the session of each configuration, which the receivers of up to three signals share. The Collector creates
// all of them before it starts the first one, and shuts all of them down before their consumers.
type shared struct {
	open opener

	mu       sync.Mutex
	sessions map[*Config]*session
}

// get returns the session of a configuration, and creates it if it does not exist. add gives it the consumer of a signal.
func (s *shared) get(set receiver.Settings, cfg *Config, add func(*outputs) error) (*session, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[cfg]
	if ses == nil {
		var err error
		if ses, err = newSession(set, cfg, s.open); err != nil {
			return nil, err
		}
		ses.forget = func() { s.forget(cfg, ses) }
		s.sessions[cfg] = ses
	}
	return ses, add(&ses.outputs)
}

// forget removes a session that is shut down. The next receiver of the configuration gets a new one.
func (s *shared) forget(cfg *Config, ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[cfg] == ses {
		delete(s.sessions, cfg)
	}
}
