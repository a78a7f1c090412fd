package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

// pause is the state of a source between Pause and Resume.
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
	if !src.attached {
		s.attach.Unlock()
		return nil
	}
	format, _ := src.tracepoint.Format() // Resume looks again
	err := src.stop()
	s.mu.Lock()
	src.paused = pause{time.Now(), format}
	src.gone.Pauses++
	s.mu.Unlock()
	open := src.disabled
	src.disabled = nil
	s.attach.Unlock()
	err = errors.Join(err, closeAll(open)) // without the lock, as Detach
	s.attach.Lock()
	s.free += len(open)
	s.attach.Unlock()
	if err != nil {
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

// endPause adds the time of a pause to the counts.
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
