package perf

import (
	"errors"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
)

// cpu is an online CPU.
type cpu struct {
	number int
	// since changes each time that the CPU comes online; 0 where the kernel does not provide it.
	since uint64
}

// look polls for new CPUs and events, which the kernel does not report.
func (s *Session) look() {
	s.lookAtCPUs()
	s.follow()
}

// lookAtCPUs opens rings and events on CPUs that came online. The events of a CPU that goes offline end for good:
// enabling them has no effect after it comes back, so new ones replace them. Its rings and their records remain.
func (s *Session) lookAtCPUs() {
	s.attach.Lock()
	defer s.attach.Unlock()
	if s.isClosed() || s.stopped {
		return
	}
	online, err := s.kernel.online()
	if err != nil {
		return // the next poll may succeed
	}
	var errs []error
	before := s.cpus
	s.cpus = online
	for _, c := range online {
		if slices.Contains(before, c) {
			continue
		}
		if err := s.cpuCameOnline(c.number); errors.Is(err, errno.ENODEV) {
			s.lookAgain(c.number)
		} else {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		s.mu.Lock()
		s.cpuErr = err
		s.mu.Unlock()
	}
}

// lookAgain makes the next poll treat the CPU as new. A CPU appears in the list of online CPUs a moment before perf
// accepts it, and leaves the list a moment after perf refuses it.
func (s *Session) lookAgain(number int) {
	s.cpus = slices.DeleteFunc(slices.Clone(s.cpus), func(c cpu) bool { return c.number == number })
}

func (s *Session) cpuCameOnline(cpu int) error {
	var errs []error
	names := map[string]*cpuRing{}
	for _, r := range s.ringList() {
		if names[r.name] == nil || r.cpu == cpu {
			names[r.name] = r
		}
	}
	for name, r := range names {
		if r.cpu == cpu {
			errs = append(errs, s.reopenTasks(r))
			continue
		}
		r, err := s.openRing(name, cpu)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.addRings(r)
	}
	s.mu.Lock()
	sources := s.sources
	s.mu.Unlock()
	for _, src := range sources {
		if src.descriptors != nil {
			errs = append(errs, src.reopen(cpu))
		}
	}
	return errors.Join(errs...)
}

// reopen replaces the source's descriptor of a CPU that was offline.
func (src *Source) reopen(cpu int) error {
	s := src.session
	var errs []error
	if d := src.descriptors[cpu]; d != nil {
		delete(src.descriptors, cpu)
		old := map[int]*descriptor{cpu: d}
		s.mu.Lock()
		src.leaving++
		s.mu.Unlock()
		errs = append(errs, src.settle(old), closeAll(old))
		s.free++
	}
	d, err := src.openOn(cpu, src.o.Filter)
	if err == nil {
		src.descriptors[cpu] = d
		err = d.event.enable(true)
	}
	return errors.Join(append(errs, err)...)
}
