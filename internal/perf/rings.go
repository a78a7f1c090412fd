package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

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

// ring is the memory that the kernel writes records into. The kernel moves head, the reader tail.
type ring struct {
	data       []byte // its length is a power of two
	head, tail *atomic.Uint64
}

// unread returns head, and how many bytes before it are not read.
func (r *ring) unread() (head, n uint64) {
	head = r.head.Load()
	return head, min(distance(r.tail.Load(), head), uint64(len(r.data)))
}

// free moves tail to n bytes before a position that head had.
func (r *ring) free(head, n uint64) {
	tail := head - n
	if head|r.tail.Load() < 1<<32 { // of a 32-bit kernel, see distance
		tail = uint64(uint32(tail))
	}
	r.tail.Store(tail)
}

// spare is the room that a ring has while no record can be lost: a record has 16 bits for its size, and its writer may be interrupted by
// three others.
const spare = 4 << 16

// overran reports whether records may have been lost since the reader last freed the room before a position, with which tail was
// there.
func (r *ring) overran(tail uint64) bool {
	return distance(tail, r.head.Load())+spare > uint64(len(r.data))
}

// distance returns the number of bytes between two positions. Those of 32-bit kernels wrap around at 4 GiB.
func distance(from, to uint64) uint64 {
	if from|to < 1<<32 {
		return uint64(uint32(to - from))
	}
	return to - from
}

// appendRange appends n bytes from a position, which may wrap around. It appends at most the size of the ring.
func (r *ring) appendRange(dst []byte, pos, n uint64) []byte {
	size := uint64(len(r.data))
	n = min(n, size)
	start := pos & (size - 1)
	first := min(n, size-start)
	dst = append(dst, r.data[start:start+first]...)
	return append(dst, r.data[:n-first]...)
}

const minOverwrite = 64 << 10

// unsafePart is the size at the oldest end of an overwritten ring that writers may be changing before they move head: one
// record for each context. Records of tracepoints are at most 8 KiB (PERF_MAX_TRACE_SIZE).
const unsafePart = minOverwrite / 4

// newest appends the records of an overwritten ring that were written since head was seen, the newest first, and returns
// head. The kernel writes such a ring backward: each record precedes the older one, and head, which counts down from 0, is
// at the newest.
//
// The ring is not paused, since a paused ring loses all hits. If writers overwrite more than half of it meanwhile, it is
// copied again, a limited number of times.
func (r *ring) newest(dst []byte, seen uint64) (_ []byte, head uint64) {
	for range 5 {
		head = r.head.Load()
		dst = r.appendRange(dst[:0], head, distance(head, seen))
		if dst = dst[:r.unchanged(dst, head)]; distance(r.head.Load(), head) <= uint64(len(r.data)/2) {
			break
		}
	}
	return dst, head
}

// unchanged returns how many bytes of a copy, which begins at a position that head had before, no writer has changed.
func (r *ring) unchanged(b []byte, from uint64) int {
	var fence atomic.Uint32
	fence.Add(1) // else a CPU such as arm64 may load head before the copied bytes
	room := uint64(len(r.data) - unsafePart)
	return int(min(uint64(len(b)), room-min(room, distance(r.head.Load(), from))))
}

func cut(b []byte) bool { return len(b) < headerSize || order.Uint16(b[6:]) >= headerSize }

// next splits the first record off b. It returns nil if b has no whole record.
func next(b []byte) (record raw, rest []byte) {
	if len(b) < headerSize {
		return nil, nil
	}
	n := int(order.Uint16(b[6:]))
	if n < headerSize || n > len(b) {
		return nil, nil
	}
	return raw(b[:n:n]), b[n:]
}

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
