package usereventsreceiver

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/reader"
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

// available says of each transport whether its events are read: a node that collects nothing must not look like one whose programs write
// nothing. Its methods may be called concurrently.
type available struct {
	mu sync.Mutex
	of map[Transport]string // reason by transport; empty if the events are read
}

// set notes why the events of a transport, or of all, are not read; nil if they are.
func (a *available) set(t Transport, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[Transport]string{}
	}
	for _, each := range []Transport{transportKernel, transportMemory} {
		if t == each || t == transportAny {
			a.of[each] = unavailable(err)
		}
	}
}

// reasons returns the reason of each transport of which it is known whether it is read.
func (a *available) reasons() map[Transport]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.of)
}

func unavailable(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, uevents.ErrNotSupported):
		return "not_supported"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.Is(err, fs.ErrNotExist):
		return "not_found"
	}
	return "error"
}

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
	o.Selection, o.Transport = reader.Selection{Events: []string{"user_events:usereventsreceiver_none"}}, reader.TransportKernel
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

// checkRights says once which programs with events in shared memory are omitted, and why, also before there are any.
func (s *session) checkRights() {
	if s.cfg.Transport == transportKernel {
		return
	}
	if missing := missingRights(missingCapabilities(), sys.InitialNamespace("pid")); len(missing) > 0 {
		s.logger.Warn("programs with events in shared memory are omitted if they run as other users or in other containers", zap.Strings("missing", missing))
	}
}

// missingRights returns what the Collector lacks to read the memory of all programs. hostPIDs says that it sees the host's processes.
func missingRights(capabilities []string, hostPIDs bool) (missing []string) {
	missing = append(missing, capabilities...)
	if !hostPIDs {
		missing = append(missing, "the host's process ids (hostPID: true)")
	}
	return missing
}
