package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
)

// cpuRing is a ring of a CPU. A dummy software event owns it, so that other events can be opened and closed.
type cpuRing struct {
	owner event // never enabled
	tasks event // records of tasks; nil without Options.Tasks, and in named rings

	// Guarded by Session.mu:
	queue queue
	seen  uint64 // head at the last Snapshot
}

// rings are the rings of a name, AttachOptions.Ring.
type rings struct {
	size  int
	tasks bool // they get the records of tasks
	byCPU map[int]*cpuRing
}

// openRings opens the rings of a name on all online CPUs, unless they exist.
func (s *Session) openRings(name string) error {
	if s.named[name] != nil {
		return nil
	}
	least := s.leastSize(name)
	size, fits := s.leaveMemory(least)
	if !fits && name != "" {
		return fmt.Errorf("%w: they would take more than half of what is available", errTooMuchMemory)
	}
	for ; ; size /= 2 {
		set := &rings{size: size, tasks: s.o.Tasks && name == "", byCPU: map[int]*cpuRing{}}
		err := s.tryRings(set)
		switch {
		case err == nil:
			s.named[name] = set
			for _, c := range s.cpus {
				s.addRing(set.byCPU[c.number])
			}
			return nil
		case !errors.Is(err, errTooMuchMemory):
			return err
		case size <= least:
			return remedied(err, &s.o)
		}
	}
}

// leastSize returns the size below which rings of a name are not made. Events share the rings of the session rather than
// have small ones of their own, which would lose records while those have room.
func (s *Session) leastSize(name string) int {
	least := os.Getpagesize()
	if s.o.Overwrite {
		least = minOverwrite
	}
	if name != "" {
		least = max(least, s.o.BufferSize/8)
	}
	return least
}

// leaveMemory returns the size of rings of which those of all CPUs, with those that are open, take at most half of the memory
// that was available to the session, and whether they do: they have at least the least size. The kernel does not refuse to
// root what there is not, but ends processes to make room.
func (s *Session) leaveMemory(least int) (size int, fits bool) {
	size = s.o.BufferSize
	available, err := s.kernel.memory()
	if err != nil {
		return size, true // it is not known, as in a sandbox without /proc/meminfo; the kernel's own limits remain
	}
	cpus, used := uint64(len(s.cpus)), uint64(0)
	for _, other := range s.named {
		used += uint64(other.size) * cpus
	}
	for ; uint64(size)*cpus+used > (available+used)/2; size /= 2 {
		if size <= least {
			return size, false
		}
	}
	return size, true
}

// errTooMuchMemory reports that the kernel refused the memory of a ring.
var errTooMuchMemory = errors.New("the kernel refuses the memory of the rings")

// tryRings opens rings on all online CPUs, or none.
func (s *Session) tryRings(set *rings) error {
	for _, c := range s.cpus {
		err := s.openRing(set, c.number)
		if errors.Is(err, errno.ENODEV) {
			s.lookAgain(c.number)
			continue
		}
		if err != nil {
			for _, r := range set.byCPU {
				err = errors.Join(err, s.closeRing(r))
			}
			return err
		}
	}
	return nil
}

func (s *Session) openRing(set *rings, cpu int) error {
	owner, err := s.openEvent(sys.PerfAttr{Backward: s.o.Overwrite, Watermark: uint32(set.size / 4)}, cpu)
	if err != nil {
		return err
	}
	r := &cpuRing{owner: owner, queue: queue{cpu: cpu}}
	r.queue.ring, err = owner.mapRing(set.size, s.o.Overwrite)
	if errors.Is(err, errno.EPERM) || errors.Is(err, errno.ENOMEM) {
		err = fmt.Errorf("%w: %w", errTooMuchMemory, err)
	}
	if err == nil && set.tasks {
		err = s.openTasks(r)
	}
	if err != nil {
		return errors.Join(err, s.closeRing(r))
	}
	set.byCPU[cpu] = r
	return nil
}

// openTasks makes the kernel write records of tasks into a ring. It replaces the event of a CPU that was offline.
func (s *Session) openTasks(r *cpuRing) (err error) {
	if r.tasks != nil {
		lost, readErr := r.lostTasks()
		s.lostTasks += lost
		err = errors.Join(readErr, r.tasks.close())
		r.tasks = nil
		s.free++
	}
	tasks, openErr := s.openEvent(sys.PerfAttr{Tasks: true, CgroupID: s.o.CgroupID, Backward: s.o.Overwrite}, r.queue.cpu)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	r.tasks = tasks
	return errors.Join(err, tasks.setOutput(r.owner), tasks.enable(true))
}

// lostTasks reads how many records of tasks the kernel lost.
func (r *cpuRing) lostTasks() (uint64, error) {
	if r.tasks == nil {
		return 0, nil
	}
	counts, err := r.tasks.read()
	return counts.Lost, err
}

func (s *Session) closeRing(r *cpuRing) (err error) {
	if r.tasks != nil {
		err = r.tasks.close()
		s.free++
	}
	s.free++
	return errors.Join(err, r.owner.close())
}

// addRing makes the session read a ring, if there is one.
func (s *Session) addRing(r *cpuRing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil {
		s.rings = append(slices.Clip(s.rings), r)
	}
}

// reserve returns an error if the process cannot open n more descriptors.
func (s *Session) reserve(n int) error {
	if n <= s.free {
		return nil
	}
	return fmt.Errorf("%d descriptors are needed for %d CPUs, and %d are left: %w (raise RLIMIT_NOFILE: ulimit -n)",
		n, len(s.cpus), max(s.free, 0), errno.EMFILE)
}
