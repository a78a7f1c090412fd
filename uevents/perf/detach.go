package perf

import (
	"errors"
	"fmt"
	"slices"
)

// Detach disables the event and closes its descriptors, which takes the kernel about 30 ms. ReadInto still returns the
// records written before. Detach may be called more than once.
func (src *Source) Detach() error {
	s := src.session
	s.attach.Lock()
	disabled, err := src.retire()
	s.attach.Unlock()
	if err = errors.Join(err, closeAll(disabled)); err != nil { // without the lock: other events need not wait
		err = fmt.Errorf("detaching from event %s: %w", src, err)
	}
	s.attach.Lock()
	s.free += len(disabled)
	s.attach.Unlock()
	return err
}

// retire disables all descriptors of a source and removes them from it. The caller closes them, even on error.
func (src *Source) retire() (disabled map[int]*descriptor, err error) {
	err = src.stop()
	disabled, src.disabled = src.disabled, nil
	s := src.session
	s.mu.Lock()
	defer s.mu.Unlock()
	src.ended = true
	s.forgetIfRead(src)
	return disabled, err
}

// stop disables all descriptors of a source.
func (src *Source) stop() error {
	open := src.descriptors
	if open == nil {
		return nil
	}
	src.descriptors, src.disabled = nil, open
	s := src.session
	s.mu.Lock()
	src.leaving += len(open)
	s.mu.Unlock()
	return src.settle(open)
}

// settle disables descriptors, and adds their counts to those of the source.
func (src *Source) settle(old map[int]*descriptor) error {
	s := src.session
	errs := []error{enableAll(old, false)}
	for _, d := range old {
		counts, err := d.event.read()
		errs = append(errs, err)
		s.mu.Lock()
		src.gone.Matched += counts.Matched
		src.gone.Lost += counts.Lost
		d.counts = counts
		if !src.o.CountOnly {
			s.leaving = append(s.leaving, d)
		}
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// forgetRead forgets disabled descriptors whose records were all delivered. Call it before drain.
func (s *Session) forgetRead() {
	s.leaving = slices.DeleteFunc(s.leaving, func(d *descriptor) bool {
		if !d.drained || d.pending > 0 {
			return false
		}
		s.forget(d)
		return true
	})
}

// forget removes a descriptor, and its source if it has no other.
func (s *Session) forget(d *descriptor) {
	if !s.noLost && !s.o.Overwrite {
		// The kernel counts a hit before it checks whether the event is being disabled, and then may not record it.
		d.source.gone.Matched -= d.counts.Matched - min(d.counts.Matched, d.counts.Lost+d.taken)
	}
	delete(s.byID, d.id)
	s.recent = nil
	d.source.known--
	if d.source.leaving--; d.source.leaving == 0 {
		d.source.replacing = nil
	}
	s.forgetIfRead(d.source)
}

// forgetIfRead removes a source that is detached and completely read.
func (s *Session) forgetIfRead(src *Source) {
	if !src.ended || src.known > 0 || src.final {
		return
	}
	src.final = true
	s.sources = slices.DeleteFunc(slices.Clone(s.sources), func(other *Source) bool { return other == src })
	s.detached.add(src.stats(src.gone, s.noLost))
}

func enableAll(open map[int]*descriptor, on bool) error {
	var errs []error
	for _, d := range open {
		errs = append(errs, d.event.enable(on))
	}
	return errors.Join(errs...)
}

func closeAll(open map[int]*descriptor) error {
	var errs []error
	for _, d := range open {
		errs = append(errs, d.event.close())
	}
	return errors.Join(errs...)
}

// abandon closes descriptors that were never enabled.
func (s *Session) abandon(open map[int]*descriptor) error {
	s.mu.Lock()
	s.recent = nil
	for _, d := range open {
		if s.byID[d.id] == d {
			delete(s.byID, d.id)
			d.source.known--
		}
	}
	s.mu.Unlock()
	s.free += len(open)
	return closeAll(open)
}
