package usereventsreceiver

import (
	"errors"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/userevents/userevents-go/uevents"
)

// status reports the status of the session to the hosts of all receivers that share it.
type status struct {
	mu    sync.Mutex
	hosts []component.Host
	known bool
	text  string // of the last error; empty if there was none
	err   error
}

// add adds the host of a receiver, and reports the last status to it.
func (s *status) add(h component.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, h)
	if s.known {
		componentstatus.ReportStatus(h, s.event())
	}
}

// set reports an error, or that there is none, if that is a change. It reports whether it is. Errors are recoverable, but for a kernel that
// has no user_events.
func (s *status) set(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if s.known && s.text == text {
		return false
	}
	s.known, s.text, s.err = true, text, err
	for _, h := range s.hosts {
		componentstatus.ReportStatus(h, s.event())
	}
	return true
}

func (s *status) event() *componentstatus.Event {
	if s.err == nil {
		return componentstatus.NewEvent(componentstatus.StatusOK)
	}
	if errors.Is(s.err, uevents.ErrNotSupported) {
		return componentstatus.NewPermanentErrorEvent(s.err)
	}
	return componentstatus.NewRecoverableErrorEvent(s.err)
}
