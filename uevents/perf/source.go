package perf

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Source is an attached event. Its methods may be called concurrently, also while another goroutine reads the session.
type Source struct {
	session    *Session
	tracepoint *tracefs.Event
	id         int

	// Guarded by Session.attach:
	o           AttachOptions
	descriptors map[int]*descriptor // by CPU; nil once detached or stopped
	disabled    map[int]*descriptor // by Stop; closed later, since closing is slow

	// Guarded by Session.mu:
	gone        sys.PerfCounts // of closed descriptors
	read        uint64
	excluded    uint64
	duplicates  uint64        // see SetFilter
	pending     uint64        // number in queues
	inRings     uint64        // number in rings at the last check
	overwritten uint64        // up to the last Snapshot
	before      uint64        // written up to the last Snapshot
	known       int           // descriptors that may have records
	leaving     int           // of these, disabled ones or those being disabled
	ended       bool          // detached
	final       bool          // no more records come: unread ones are lost
	gap         time.Duration // see Gap
	replacing   map[int]*twin
	fields      []tracepoint.FormatField // fields of the event at the last SetFilter
}

// descriptor is a perf event of a source on a CPU.
type descriptor struct {
	source *Source
	event  event
	cpu    int
	id     uint64 // its number in records

	// Guarded by Session.mu:
	pending uint64         // records in queues
	taken   uint64         // number of records taken from queues
	counts  sys.PerfCounts // read after it was disabled
	drained bool           // the rings were drained after that
}

// Event returns the tracepoint.
func (src *Source) Event() *tracefs.Event { return src.tracepoint }

// String returns "SYSTEM:NAME".
func (src *Source) String() string { return src.tracepoint.String() }

// ID returns the number in the records' field common_type. The kernel may reuse it after the event is removed.
func (src *Source) ID() int { return src.id }

// Gap returns how long the event may have been registered before it was attached: Follow found it missing that long
// before. Records that its program wrote meanwhile are missing. It is 0 if the event existed when Follow was called, and for
// events that were attached by Attach.
func (src *Source) Gap() time.Duration {
	src.session.mu.Lock()
	defer src.session.mu.Unlock()
	return src.gap
}

// Attach enables an event on all CPUs, also while ReadInto runs. name is that of [tracefs.Instance.Event]. The same
// event can be attached more than once. While it is attached, the event stays registered after its program has ended,
// and a program that registers other fields under its name gets EADDRINUSE.
//
// Errors wrap [io/fs.ErrNotExist] if the event does not exist, [io/fs.ErrPermission] without permission, EINVAL if the
// kernel refuses the filter (with the kernel's explanation if tracefs is writable), and EMFILE if the process cannot
// open a descriptor for each CPU.
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
	err = s.makeRoom(&o)
	if o.Ring != "" && (errors.Is(err, errTooMuchMemory) || errors.Is(err, errno.EMFILE)) {
		o.Ring = ""
		err = s.makeRoom(&o)
	}
	if err != nil {
		return nil, err
	}
	src := &Source{session: s, tracepoint: tracepoint, id: id, o: o}
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

// makeRoom opens the rings of an event, and checks that the process can open the descriptors.
func (s *Session) makeRoom(o *AttachOptions) error {
	need := len(s.cpus)
	if o.CountOnly {
		return s.reserve(need)
	}
	if !s.hasRings(o.Ring) {
		need *= 2
	}
	if err := s.reserve(need); err != nil {
		return err
	}
	return s.openRings(o.Ring)
}

// open opens the source's event, disabled, on all online CPUs.
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

// openOn opens the source's event on a CPU, and registers the id of its records.
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

// openEvent opens an event on a CPU. If the kernel has no exact loss counts, it omits them.
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
