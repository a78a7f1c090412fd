package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// Source is an attached event. Its methods may be called concurrently, also while another goroutine reads the session.
type Source struct {
	session    *Session
	tracepoint *tracefs.Event
	id         int // of the tracepoint
	tag        any

	// Guarded by Session.attach:
	o        AttachOptions
	attached bool          // until Stop or Detach
	disabled []*descriptor // not closed yet, since that is slow
	released bool          // Detach has closed all
	paused   pause         // changes also hold Session.mu

	// Guarded by Session.mu:
	descriptors []*descriptor  // enabled, or with unread records
	gone        live.Counts    // of the others
	ended       bool           // by Detach or Close
	detached    time.Time      // when
	gap         time.Duration  // see Gap
	only        map[int32]bool // the processes whose samples are delivered; nil means all
	told        bool           // by Overran, that there are losses; only after it was detached and completely read
}

// Event returns the tracepoint.
func (src *Source) Event() *tracefs.Event { return src.tracepoint }

// SetProcesses replaces AttachOptions.Processes, also for records that are unread.
func (src *Source) SetProcesses(pids map[int32]bool) {
	src.session.mu.Lock()
	defer src.session.mu.Unlock()
	src.only = pids
}

// Complete reports whether the event is detached, and all its records were read.
func (src *Source) Complete() bool {
	src.session.mu.Lock()
	defer src.session.mu.Unlock()
	return src.complete()
}

// String returns "SYSTEM:NAME".
func (src *Source) String() string { return src.tracepoint.String() }

// Gap returns how long the event may have been registered before Follow attached to it: the time since Follow found it
// missing, or since it was detached. Records that its program wrote meanwhile are missing. It is 0 if the event existed
// when Follow was called, and for events that were attached by Attach.
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
	src := &Source{session: s, tracepoint: s.dir.Event(name)}
	src.tag = src
	if o != nil {
		src.o = *o
	}
	if src.o.Tag != nil {
		src.tag = src.o.Tag
	}
	src.only = src.o.Processes
	s.attach.Lock()
	defer s.attach.Unlock()
	if err := src.start(); err != nil {
		return nil, fmt.Errorf("attaching to event %s: %w", src, err)
	}
	return src, nil
}

func (src *Source) start() (err error) {
	s := src.session
	if err := checkFilter(src.o.Filter); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if src.id, err = src.tracepoint.ID(); err != nil {
		return err
	}
	if err = src.findRoom(); err != nil {
		return err
	}
	s.mu.Lock()
	s.sources = append(slices.Clip(s.sources), src)
	s.mu.Unlock()
	src.attached = true
	if err := src.openAll(); err != nil {
		return errors.Join(err, src.end(), src.close())
	}
	return nil
}

// openAll opens the event on all CPUs.
func (src *Source) openAll() error {
	s := src.session
	for _, c := range s.cpus {
		err := src.openOn(c.number)
		if errors.Is(err, errno.ENODEV) {
			s.lookAgain(c.number)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// findRoom is makeRoom, with the rings of the session if there is no room for others.
func (src *Source) findRoom() error {
	err := src.makeRoom()
	if src.o.Ring != "" && (errors.Is(err, errTooMuchMemory) || errors.Is(err, errno.EMFILE)) {
		src.o.Ring = ""
		err = src.makeRoom()
	}
	return err
}

// makeRoom opens the rings of an event, and checks that the process can open the descriptors.
func (src *Source) makeRoom() error {
	s := src.session
	need := len(s.cpus)
	if src.o.CountOnly {
		return s.reserve(need)
	}
	if s.named[src.o.Ring] == nil {
		need *= 2
	}
	if err := s.reserve(need); err != nil {
		return err
	}
	return s.openRings(src.o.Ring)
}

// Detach disables the event and closes its descriptors, which takes the kernel about 30 ms. ReadInto still returns the
// records written before. Detach may be called more than once.
func (src *Source) Detach() error {
	s := src.session
	s.attach.Lock()
	defer s.attach.Unlock()
	first := !src.ended
	err := errors.Join(src.end(), src.closeUnlocked())
	src.released = src.released || first
	if err != nil {
		err = fmt.Errorf("detaching from event %s: %w", src, err)
	}
	return err
}

// closeUnlocked closes the disabled descriptors, without the lock meanwhile, which the caller holds: other events need not wait.
func (src *Source) closeUnlocked() error {
	open := src.disabled
	src.disabled = nil
	src.session.attach.Unlock()
	err := closeAll(open)
	src.session.attach.Lock()
	src.session.free += len(open)
	return err
}

// end disables all descriptors for good. The caller closes them, even on error.
func (src *Source) end() error {
	err := src.stop()
	s := src.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !src.ended {
		src.ended, src.detached = true, time.Now()
		s.forgetIfRead(src)
	}
	return err
}

// stop disables all descriptors. Records that were written before can still be read.
func (src *Source) stop() error {
	src.attached = false
	src.endPause()
	return src.disable(src.enabled())
}

// enabled returns the descriptors that are not disabled.
func (src *Source) enabled() []*descriptor {
	src.session.mu.Lock()
	defer src.session.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(src.descriptors), func(d *descriptor) bool { return d.disabled })
}

func (src *Source) close() error {
	open := src.disabled
	src.disabled = nil
	src.session.free += len(open)
	return closeAll(open)
}

func closeAll(list []*descriptor) error {
	var errs []error
	for _, d := range list {
		errs = append(errs, d.event.close())
	}
	return errors.Join(errs...)
}

type pause struct {
	since  time.Time         // zero if the source is not paused
	format tracepoint.Format // of the event at that time
}

// Pause detaches from the event until Resume, and keeps the Source: while no other tool is attached, the event is disabled, and its
// programs make no records. It closes descriptors, which takes the kernel about 30 ms; from the beginning of that the kernel
// counts and records nothing. ReadInto still returns the records written before. Programs may unregister the event meanwhile. Pause does nothing if the
// source is paused, detached, or the session was stopped.
func (src *Source) Pause() error {
	s := src.session
	s.attach.Lock()
	defer s.attach.Unlock()
	if !src.attached {
		return nil
	}
	format, _ := src.tracepoint.Format() // Resume looks again
	err := src.stop()
	s.mu.Lock()
	src.paused = pause{time.Now(), format}
	src.gone.Pauses++
	s.mu.Unlock()
	if err = errors.Join(err, src.closeUnlocked()); err != nil {
		return fmt.Errorf("pausing event %s: %w", src, err)
	}
	return nil
}

// Resume attaches to the event again, with the rings of AttachOptions.PausedRing. It does nothing if the source is not paused. Errors are those of Attach: one that wraps
// [fs.ErrNotExist] says that the event is gone, also if there is another of its name with other fields. After an error, only Detach is
// left to do.
func (src *Source) Resume() error {
	s := src.session
	s.attach.Lock()
	defer s.attach.Unlock()
	if src.paused.since.IsZero() {
		return nil
	}
	err := s.check()
	if err == nil {
		err = src.same()
	}
	if err == nil {
		if src.o.PausedRing != "" {
			src.o.Ring, src.o.PausedRing = src.o.PausedRing, ""
		}
		err = src.findRoom()
	}
	if err == nil {
		src.attached = true
		if err = src.openAll(); err != nil {
			err = errors.Join(err, src.stop(), src.close())
		}
	}
	src.endPause()
	if err != nil {
		return fmt.Errorf("resuming event %s: %w", src, err)
	}
	return nil
}

// same returns an error unless the event is the one that was paused. The kernel gives the ids of removed events to new ones.
func (src *Source) same() error {
	id, err := src.tracepoint.ID()
	if err != nil {
		return err
	}
	if format, _ := src.tracepoint.Format(); id != src.id || !slices.Equal(format.Fields, src.paused.format.Fields) {
		return fmt.Errorf("it was registered anew: %w", fs.ErrNotExist)
	}
	return nil
}

func (src *Source) endPause() {
	s := src.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !src.paused.since.IsZero() {
		src.gone.Paused += time.Since(src.paused.since)
		src.paused = pause{}
		s.overran = true // Stats has more
	}
}
