package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/sys"
)

// descriptor is a perf event of a source on a CPU.
type descriptor struct {
	source *Source
	event  event
	cpu    int
	ring   *cpuRing // nil with CountOnly
	id     uint64   // its number in records, if there is a ring

	// Guarded by Session.mu:
	counts      sys.PerfCounts // when they were last read
	read        uint64         // records that were taken out of queues
	excluded    uint64         // of these
	written     uint64         // before the last Snapshot
	overwritten uint64         // of these
	disabled    bool           // counts are final
	end         uint64         // no record is behind it in the queue; the largest number until that is known
}

// openOn opens and enables the source's event on a CPU.
func (src *Source) openOn(cpu int) error {
	s := src.session
	e, err := s.openEvent(sys.PerfAttr{
		Tracepoint: uint64(src.id), CountOnly: src.o.CountOnly,
		Callchain: s.o.Callchain, CgroupID: s.o.CgroupID, Backward: s.o.Overwrite,
	}, cpu)
	if err != nil {
		return err
	}
	d := &descriptor{source: src, event: e, cpu: cpu, end: math.MaxUint64}
	if err := d.prepare(); err != nil {
		s.free++
		return errors.Join(err, e.close())
	}
	s.mu.Lock()
	if d.ring != nil {
		s.byID[d.id] = d
	}
	src.descriptors = append(src.descriptors, d)
	s.mu.Unlock()
	return e.enable(true)
}

func (d *descriptor) prepare() error {
	src := d.source
	if src.o.Filter != "" {
		if err := d.event.setFilter(src.o.Filter); err != nil {
			return src.explain(err)
		}
	}
	if src.o.CountOnly {
		return nil
	}
	counts, err := d.event.read()
	if err != nil {
		return err
	}
	d.id = counts.ID
	if d.ring = src.session.named[src.o.Ring].byCPU[d.cpu]; d.ring == nil {
		return errno.ENODEV
	}
	return d.event.setOutput(d.ring.owner)
}

var explanations atomic.Uint32

// explain adds the kernel's explanation to the error of a filter. Perf gives none, so explain sets the filter in a
// temporary ftrace instance, which does not affect other tools.
func (src *Source) explain(err error) error {
	if slices.ContainsFunc([]error{errno.EPERM, errno.ENOENT, errno.ESRCH}, func(e error) bool { return errors.Is(err, e) }) {
		err = errno.EINVAL // the kernel returns -1, -2 and -3 for unmatched parentheses and quotes (calc_stack)
	}
	err = fmt.Errorf("filter %q: %w", src.o.Filter, err)
	instance, noInstance := src.session.dir.NewInstance(fmt.Sprintf("perf-filter-%d-%d", os.Getpid(), explanations.Add(1)))
	if noInstance != nil {
		return err // no permission to write tracefs
	}
	if refused := instance.Event(src.String()).SetFilter(src.o.Filter); refused != nil {
		if _, text, ok := strings.Cut(refused.Error(), errno.EINVAL.Error()+": "); ok {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	return errors.Join(err, instance.Remove())
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

// disable disables descriptors for good. It reads their last counts.
func (src *Source) disable(list []*descriptor) error {
	s := src.session
	var errs []error
	for _, d := range list {
		errs = append(errs, d.event.enable(false))
	}
	for _, d := range list {
		counts, err := d.event.read()
		errs = append(errs, err)
		s.mu.Lock()
		d.counts, d.disabled = counts, true
		if d.ring == nil {
			s.forget(d)
		} else {
			s.leaving = append(s.leaving, d)
		}
		s.mu.Unlock()
	}
	src.disabled = append(src.disabled, list...)
	return errors.Join(errs...)
}

// forgetRead forgets disabled descriptors whose records were all delivered.
func (s *Session) forgetRead() {
	s.leaving = slices.DeleteFunc(s.leaving, func(d *descriptor) bool {
		if d.ring.queue.delivered() < d.end {
			return false
		}
		s.forget(d)
		return true
	})
}

// contexts is the number of contexts of a CPU in which a descriptor may be hit at the same time: of a task, of two kinds of
// interrupts, and of one that cannot be masked.
const contexts = 4

func (s *Session) forget(d *descriptor) {
	src := d.source
	if s.byID[d.id] == d {
		delete(s.byID, d.id)
		s.recent = nil
	}
	src.descriptors = slices.DeleteFunc(src.descriptors, func(other *descriptor) bool { return other == d })
	t := d.stats()
	if d.ring != nil {
		missing := int64(t.Matched - t.Read - t.Lost - t.Overwritten)
		if !s.closed && !s.noLost {
			// The kernel counts a hit and writes its record, and the event may be disabled in between.
			raced := max(-contexts, min(missing, contexts))
			t.Matched -= uint64(raced)
			missing -= raced
		}
		t.Lost += uint64(max(0, missing))
	}
	src.gone.Add(t)
	s.forgetIfRead(src)
}

const maxKept = 1000

// forgetIfRead removes a source that is detached and completely read. One with losses is kept until Overran has told of them, so that
// Stats gives them with the name of the event.
func (s *Session) forgetIfRead(src *Source) {
	if !slices.Contains(s.sources, src) || !src.complete() {
		return
	}
	if t := src.gone; !s.closed && (t.Lost > 0 || t.Pauses > 0) && s.kept < maxKept {
		s.kept++
		s.overran = true
		return
	}
	s.forgetSource(src)
}

func (src *Source) complete() bool { return src.ended && len(src.descriptors) == 0 }

// forgetSource moves the counts of a source to those of all that were detached.
func (s *Session) forgetSource(src *Source) {
	s.sources = slices.DeleteFunc(slices.Clone(s.sources), func(other *Source) bool { return other == src })
	if !src.o.CountOnly {
		s.detached.Add(src.gone)
	}
}

// forgetTold removes sources that were kept for their losses, once Overran has told of them and of all others with the name: the losses of a
// name only grow.
func (s *Session) forgetTold() {
	if s.kept == 0 {
		return
	}
	named := map[string]bool{}
	for _, src := range s.sources {
		if !src.told {
			named[src.String()] = true
		}
	}
	for _, src := range s.sources {
		switch {
		case !src.complete():
		case !src.told:
			src.told, s.overran = true, true
		case !named[src.String()]:
			s.forgetSource(src)
			s.kept--
		}
	}
}
