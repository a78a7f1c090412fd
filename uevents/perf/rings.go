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
	if err := s.leaveMemory(); err != nil {
		return err
	}
	for {
		rings, err := s.tryRings(name)
		if err == nil {
			s.addRings(rings...)
			return nil
		}
		if !errors.Is(err, errTooMuchMemory) {
			return err
		}
		if s.isSmallest() {
			return remedied(err, &s.o)
		}
		s.bufSize /= 2
	}
}

// leaveMemory makes the rings smaller until those of all CPUs take at most half of the available memory. The kernel does
// not refuse to root what there is not, but ends processes to make room.
func (s *Session) leaveMemory() error {
	available, err := s.kernel.memory()
	if err != nil {
		return fmt.Errorf("looking for memory: %w", err)
	}
	for uint64(s.bufSize)*uint64(len(s.cpus)) > available/2 && !s.isSmallest() {
		s.bufSize /= 2
	}
	return nil
}

// isSmallest reports whether rings cannot be smaller.
func (s *Session) isSmallest() bool {
	return s.bufSize == os.Getpagesize() || s.o.Overwrite && s.bufSize == minOverwrite
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
	watermark := uint32(s.bufSize / 4)
	if s.o.Immediate {
		watermark = 1
	}
	owner, err := s.openEvent(sys.PerfAttr{Backward: s.o.Overwrite, Watermark: watermark}, cpu)
	if err != nil {
		return nil, err
	}
	r := &cpuRing{name: name, cpu: cpu, owner: owner}
	r.ring, err = owner.mapRing(s.bufSize, s.o.Overwrite)
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
