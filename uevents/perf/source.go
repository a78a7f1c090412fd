package perf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Source is an event that a session is attached to. Its methods may be called concurrently, also while the
// session is read.
type Source struct {
	session    *Session
	tracepoint *tracefs.Event
	id         int

	// Guarded by Session.attach:
	o           AttachOptions
	descriptors map[int]*descriptor // by CPU; nil once detached or stopped
	disabled    map[int]*descriptor // by Stop; closed later, which takes long

	// Guarded by Session.mu:
	gone        sys.PerfCounts // of descriptors that were closed
	read        uint64
	excluded    uint64
	duplicates  uint64 // see SetFilter
	pending     uint64 // in queues
	inRings     uint64 // in rings, when those were looked at last
	overwritten uint64 // up to the last Snapshot
	before      uint64 // written up to the last Snapshot
	known       int    // descriptors that records can be of
	leaving     int    // the number of them that are disabled, or about to be
	ended       bool   // it is detached
	final       bool   // no more records come: those that were not read are lost
	replacing   map[int]*twin
	fields      []tracepoint.FormatField // of the event when a filter was replaced last
}

// descriptor is a perf event of a source on a CPU.
type descriptor struct {
	source *Source
	event  event
	cpu    int
	id     uint64 // in records

	// Guarded by Session.mu:
	pending uint64         // records in queues
	taken   uint64         // records that were taken from queues
	counts  sys.PerfCounts // after it was disabled
	drained bool           // the rings were drained after that
}

// Event returns the tracepoint.
func (src *Source) Event() *tracefs.Event { return src.tracepoint }

// String returns "SYSTEM:NAME".
func (src *Source) String() string { return src.tracepoint.String() }

// ID returns the number that the records' common_type has. The kernel reuses it once the event is gone.
func (src *Source) ID() int { return src.id }

// Attach enables an event, named as for [tracefs.Instance.Event], on all CPUs, also while ReadInto runs. The
// same event can be attached more than once. While it is attached, the event stays registered after its program
// has ended, and a program that registers other fields under its name gets EADDRINUSE.
//
// Errors wrap [io/fs.ErrNotExist] if there is no such event, [io/fs.ErrPermission] without the rights, EINVAL
// if the kernel refuses the filter, with the kernel's explanation where tracefs can be written, and EMFILE if
// the process may not have a descriptor for each CPU.
func (s *Session) Attach(name string, o *AttachOptions) (*Source, error) {
	tracepoint := s.dir.Event(name)
	c, err := o.checked()
	if err == nil {
		s.attach.Lock()
		defer s.attach.Unlock()
		var src *Source
		if src, err = s.attachLocked(tracepoint, c); err == nil {
			return src, nil
		}
	}
	return nil, fmt.Errorf("attaching to event %s: %w", tracepoint, err)
}

func (s *Session) attachLocked(tracepoint *tracefs.Event, o AttachOptions) (*Source, error) {
	switch {
	case s.isClosed():
		return nil, errClosed
	case s.stopped:
		return nil, errStopped
	}
	id, err := tracepoint.ID()
	if err != nil {
		return nil, err
	}
	src := &Source{session: s, tracepoint: tracepoint, id: id, o: o}
	need := len(s.cpus)
	if !o.CountOnly && !s.hasRings(o.Ring) {
		need *= 2
	}
	if err := s.reserve(need); err != nil {
		return nil, err
	}
	if !o.CountOnly {
		if err := s.openRings(o.Ring); err != nil {
			return nil, err
		}
	}
	if src.descriptors, err = src.open(o.Filter); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.sources = append(slices.Clip(s.sources), src)
	s.mu.Unlock()
	if err := enableAll(src.descriptors, true); err != nil {
		disabled, retireErr := src.retire()
		s.free += len(disabled)
		return nil, errors.Join(err, retireErr, closeAll(disabled))
	}
	return src, nil
}

// open opens the source's event on all CPUs that are online, disabled.
func (src *Source) open(filter string) (_ map[int]*descriptor, err error) {
	s := src.session
	opened := make(map[int]*descriptor, len(s.cpus))
	for _, c := range s.cpus {
		d, err := src.openOn(c.number, filter)
		if errors.Is(err, errno.ENODEV) {
			s.lookAgain(c.number)
			continue
		}
		if err != nil {
			return nil, errors.Join(err, s.abandon(opened))
		}
		opened[c.number] = d
	}
	return opened, nil
}

// openOn opens the source's event on a CPU. Its records are known from then on.
func (src *Source) openOn(cpu int, filter string) (*descriptor, error) {
	s := src.session
	e, err := s.openEvent(sys.PerfAttr{
		Tracepoint: uint64(src.id), CountOnly: src.o.CountOnly,
		Callchain: s.o.Callchain, CgroupID: s.o.CgroupID, Backward: s.o.Overwrite,
	}, cpu)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*descriptor, error) {
		s.free++
		return nil, errors.Join(err, e.close())
	}
	if filter != "" {
		if err := e.setFilter(filter); err != nil {
			return fail(src.explain(filter, err))
		}
	}
	d := &descriptor{source: src, event: e, cpu: cpu}
	counts, err := e.read()
	if err != nil {
		return fail(err)
	}
	d.id = counts.ID
	if !src.o.CountOnly {
		r := s.ringOn(src.o.Ring, cpu)
		if r == nil {
			return fail(errno.ENODEV)
		}
		if err := e.setOutput(r.owner); err != nil {
			return fail(err)
		}
		s.mu.Lock()
		s.byID[d.id] = d
		src.known++
		s.mu.Unlock()
	}
	return d, nil
}

// openEvent opens an event on a CPU, without exact loss counts where the kernel has none.
func (s *Session) openEvent(a sys.PerfAttr, cpu int) (event, error) {
	a.Lost = !s.noLost
	e, err := s.kernel.open(a, cpu)
	if a.Lost && errors.Is(err, errno.EINVAL) {
		a.Lost = false
		if older, olderErr := s.kernel.open(a, cpu); olderErr == nil {
			s.mu.Lock()
			s.noLost = true
			s.mu.Unlock()
			e, err = older, nil
		}
	}
	if err != nil {
		return nil, remedied(err, &s.o)
	}
	s.free--
	return e, nil
}
