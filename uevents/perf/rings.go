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
	name  string // AttachOptions.Ring
	cpu   int
	owner event // never enabled
	tasks event // records of tasks; nil without Options.Tasks, and in named rings
	ring  *ring

	// Guarded by Session.mu:
	queue queue
	seen  uint64 // head at the last Snapshot
}

// openRings opens the rings of a name on all online CPUs, unless they exist.
func (s *Session) openRings(name string) error {
	if s.hasRings(name) {
		return nil
	}
	least := s.leastSize(name)
	size, fits := s.leaveMemory(least)
	if !fits && name != "" {
		return fmt.Errorf("%w: they would take more than half of what is available", errTooMuchMemory)
	}
	for {
		s.sizes[name] = size
		rings, err := s.tryRings(name)
		if err == nil {
			s.addRings(rings...)
			return nil
		}
		delete(s.sizes, name)
		if !errors.Is(err, errTooMuchMemory) {
			return err
		}
		if size <= least {
			return remedied(err, &s.o)
		}
		size /= 2
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
	for _, other := range s.sizes {
		used += uint64(other) * cpus
	}
	for ; uint64(size)*cpus+used > (available+used)/2; size /= 2 {
		if size <= least {
			return size, false
		}
	}
	return size, true
}

func (s *Session) hasRings(name string) bool {
	return slices.ContainsFunc(s.ringList(), func(r *cpuRing) bool { return r.name == name })
}

// errTooMuchMemory reports that the kernel refused the memory of a ring.
var errTooMuchMemory = errors.New("the kernel refuses the memory of the rings")

func (s *Session) tryRings(name string) ([]*cpuRing, error) {
	var rings []*cpuRing
	for _, c := range s.cpus {
		r, err := s.openRing(name, c.number)
		if errors.Is(err, errno.ENODEV) {
			s.lookAgain(c.number)
			continue
		}
		if err != nil {
			for _, r := range rings {
				err = errors.Join(err, s.closeRing(r))
			}
			return nil, err
		}
		rings = append(rings, r)
	}
	return rings, nil
}

func (s *Session) openRing(name string, cpu int) (*cpuRing, error) {
	size := s.sizes[name]
	watermark := uint32(size / 4)
	if s.o.Immediate {
		watermark = 1
	}
	owner, err := s.openEvent(sys.PerfAttr{Backward: s.o.Overwrite, Watermark: watermark}, cpu)
	if err != nil {
		return nil, err
	}
	r := &cpuRing{name: name, cpu: cpu, owner: owner}
	r.ring, err = owner.mapRing(size, s.o.Overwrite)
	if errors.Is(err, errno.EPERM) || errors.Is(err, errno.ENOMEM) {
		err = fmt.Errorf("%w: %w", errTooMuchMemory, err)
	}
	if err == nil && s.hasTasks(name) {
		err = s.openTasks(r)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeRing(r))
	}
	r.queue.cpu = cpu
	return r, nil
}

// openTasks makes the kernel write records of tasks into a ring.
func (s *Session) openTasks(r *cpuRing) error {
	tasks, err := s.openEvent(sys.PerfAttr{Tasks: true, Backward: s.o.Overwrite}, r.cpu)
	if err != nil {
		return err
	}
	r.tasks = tasks
	return errors.Join(tasks.setOutput(r.owner), tasks.enable(true))
}

// reopenTasks replaces the event for tasks of a CPU that was offline. If a previous call failed, there is none to
// replace.
func (s *Session) reopenTasks(r *cpuRing) (err error) {
	if !s.hasTasks(r.name) {
		return nil
	}
	if r.tasks != nil {
		counts, readErr := r.tasks.read()
		s.lostTasks += counts.Lost
		err = errors.Join(readErr, r.tasks.close())
		r.tasks = nil
		s.free++
	}
	return errors.Join(err, s.openTasks(r))
}

// hasTasks reports whether the rings of a name get the records of tasks.
func (s *Session) hasTasks(name string) bool { return s.o.Tasks && name == "" }

func (s *Session) closeRing(r *cpuRing) (err error) {
	if r.tasks != nil {
		err = r.tasks.close()
		s.free++
	}
	s.free++
	return errors.Join(err, r.owner.close())
}

func (s *Session) addRings(rings ...*cpuRing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rings = append(slices.Clip(s.rings), rings...)
}

// ringOn returns the ring of a name on a CPU, or nil.
func (s *Session) ringOn(name string, cpu int) *cpuRing {
	for _, r := range s.ringList() {
		if r.name == name && r.cpu == cpu {
			return r
		}
	}
	return nil
}

func (s *Session) ringList() []*cpuRing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rings
}

// reserve returns an error if the process cannot open n more descriptors.
func (s *Session) reserve(n int) error {
	if n <= s.free {
		return nil
	}
	return fmt.Errorf("%d descriptors are needed for %d CPUs, and %d are left: %w (raise RLIMIT_NOFILE: ulimit -n)",
		n, len(s.cpus), max(s.free, 0), errno.EMFILE)
}
