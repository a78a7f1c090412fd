package usereventsreceiver

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// checkInterval is how often the state of the rings is checked.
const checkInterval = 10 * time.Second

// nextCheck returns the time until the next check.
func (s *session) nextCheck() time.Duration {
	if s.kernel == kernelRefuses {
		return s.cfg.Discovery.RetryInterval
	}
	return checkInterval
}

// kernelState says whether the kernel's events are read, if they should be.
type kernelState uint8

const (
	kernelRead kernelState = iota
	kernelRefuses
	kernelUnsupported // it has no user_events, and gets none
)

// check reports what is not read as the status of the session. It returns true if another source could read the kernel's events, which
// this one does not.
func (s *session) check(src source) (more bool, err error) {
	if s.isStopping() {
		return false, nil
	}
	s.logLimits(time.Now())
	var missing error
	if s.cfg.Transport != transportKernel {
		s.available.set(transportMemory, nil)
	}
	switch st := src.State(); {
	case st.CPUErr != nil:
		missing = fmt.Errorf("the records of a processor that came online are not read: %w", st.CPUErr)
		s.available.set(transportKernel, missing)
	case st.Rings > 0:
		s.kernel = kernelRead
		s.available.set(transportKernel, nil)
	case s.kernel == kernelUnsupported:
		s.available.set(transportKernel, uevents.ErrNotSupported) // another source may have failed meanwhile
	case s.cfg.Transport == transportAny:
		if missing, err = s.tryKernel(); err != nil {
			return false, err
		}
		more = s.kernel == kernelRead
	}
	if s.status.set(missing) {
		if missing == nil {
			s.logger.Info("reading events")
		} else {
			s.logger.Error("not all events are read", zap.Error(missing))
		}
	}
	return more, nil
}

// tryKernel looks whether the kernel's events can be read, and returns why not, unless the kernel has none.
func (s *session) tryKernel() (missing, err error) {
	o, err := s.cfg.readerOptions(&s.outputs, func(reader.Notice) {})
	if err != nil {
		return nil, err
	}
	o.Events, o.Where, o.Transport = []string{"user_events:usereventsreceiver_none"}, nil, reader.TransportKernel
	src, refused := s.open(o)
	s.available.set(transportKernel, refused)
	switch {
	case refused == nil:
		s.kernel = kernelRead
		return nil, src.Close()
	case errors.Is(refused, uevents.ErrNotSupported):
		s.kernel = kernelUnsupported
		s.logger.Info("only events in shared memory are read", zap.NamedError("reason", refused))
		return nil, nil
	}
	s.kernel = kernelRefuses
	return fmt.Errorf("only events in shared memory are read: %w", refused), nil
}
