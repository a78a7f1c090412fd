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

// lookAtCPUs opens rings and events on CPUs that came online. The events of a CPU that goes offline end for good:
// enabling them has no effect after it comes back, so new ones replace them. Its rings and their records remain.
func (s *Session) lookAtCPUs() {
	s.attach.Lock()
	defer s.attach.Unlock()
	if s.check() != nil {
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
		if err := s.cameOnline(c.number); errors.Is(err, errno.ENODEV) {
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

func (s *Session) cameOnline(cpu int) error {
	var errs []error
	for _, set := range s.named {
		if r := set.byCPU[cpu]; r == nil {
			errs = append(errs, s.openRing(set, cpu))
			s.addRing(set.byCPU[cpu])
		} else if set.tasks {
			errs = append(errs, s.openTasks(r))
		}
	}
	sources, _ := s.lists()
	for _, src := range sources {
		if src.attached {
			errs = append(errs, src.reopen(cpu))
		}
	}
	return errors.Join(errs...)
}

// reopen opens the source's event on a CPU, in place of the one from before the CPU went offline.
func (src *Source) reopen(cpu int) error {
	old := slices.DeleteFunc(src.enabled(), func(d *descriptor) bool { return d.cpu != cpu })
	return errors.Join(src.disable(old), src.close(), src.openOn(cpu))
}
