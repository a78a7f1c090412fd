package perf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// SetFilter replaces the filter of the event, also while ReadInto runs. Empty means none. No record that
// matches both filters is lost or read twice; with AttachOptions.CountOnly, one that is written meanwhile may count
// twice. On error the old filter stays; errors are those of Attach.
//
// The kernel cannot replace the filter of a descriptor: there are two for each CPU for a moment, and closing
// the old ones takes about 30 ms.
func (src *Source) SetFilter(filter string) error {
	old, err := src.setFilter(filter)
	if err = errors.Join(err, closeAll(old)); err != nil {
		err = fmt.Errorf("setting the filter of event %s: %w", src, err)
	}
	s := src.session
	s.attach.Lock()
	s.free += len(old)
	s.attach.Unlock()
	return err
}

// setFilter returns the descriptors that the caller closes.
func (src *Source) setFilter(filter string) (old map[int]*descriptor, err error) {
	s := src.session
	if err := checkFilter(filter); err != nil {
		return nil, err
	}
	s.attach.Lock()
	defer s.attach.Unlock()
	switch {
	case s.isClosed():
		return nil, errClosed
	case src.descriptors == nil:
		return nil, fmt.Errorf("it is detached: %w", os.ErrClosed)
	case s.stopped:
		return nil, errStopped
	}
	if err := s.reserve(len(s.cpus)); err != nil {
		return nil, err
	}
	opened, err := src.open(filter)
	if err != nil {
		return nil, err
	}
	old = src.descriptors
	if !src.o.CountOnly {
		format, _ := src.tracepoint.Format() // without it, padding may hide a duplicate
		s.mu.Lock()
		src.fields = format.Fields
		src.leaving += len(old)
		if src.replacing == nil { // else records of the replacement before are not read yet
			src.replacing = map[int]*twin{}
		}
		s.mu.Unlock()
	}
	err = enableAll(opened, true)
	src.descriptors, src.o.Filter = opened, filter
	return old, errors.Join(err, src.settle(old))
}

// twin is the last sample of a CPU while a filter is replaced.
type twin struct {
	id  uint64 // of the descriptor; 0 after its duplicate came
	tid int32
	raw []byte
}

// isDuplicate reports whether the sample before, on the same CPU, is of the same hit of the tracepoint,
// recorded by a newer descriptor of the source. The kernel writes to all descriptors of a tracepoint in one go,
// without being preempted, the newest first, so that such records follow each other.
func (src *Source) isDuplicate(d *descriptor, r *Record) bool {
	last := src.replacing[d.cpu]
	if last == nil {
		last = &twin{}
		src.replacing[d.cpu] = last
	}
	written := withoutPadding(r.Raw, src.fields)
	if last.id > d.id && last.tid == r.TID && bytes.Equal(last.raw, written) {
		last.id = 0
		return true
	}
	last.id, last.tid, last.raw = d.id, r.TID, append(last.raw[:0], written...)
	return false
}

// withoutPadding returns what a program wrote of Raw, as far as the fields tell. The kernel pads it with up to 7 bytes of older
// records, which are not the same in two records of one hit.
func withoutPadding(b []byte, fields []tracepoint.FormatField) []byte {
	end := max(0, len(b)-7)
	for _, f := range fields {
		field := f.Offset + f.Size
		if f.Type.Location != tracepoint.Fixed && field <= len(b) {
			location := order.Uint32(b[f.Offset:])
			at := int(location & 0xffff)
			if f.Type.Location == tracepoint.RelLoc {
				at += field
			}
			field = max(field, at+int(location>>16))
		}
		end = max(end, field)
	}
	return b[:min(end, len(b))]
}

var explanations atomic.Uint32

// explain adds the kernel's explanation to the error of a filter. Perf has none, so ftrace is asked: in an
// instance of its own, for a moment, which changes nothing for other tools.
func (src *Source) explain(filter string, err error) error {
	if slices.ContainsFunc([]error{errno.EPERM, errno.ENOENT, errno.ESRCH}, func(e error) bool { return errors.Is(err, e) }) {
		err = errno.EINVAL // the kernel returns -1, -2 and -3 for parentheses and quotes without a match (calc_stack)
	}
	err = fmt.Errorf("filter %q: %w", filter, err)
	s := src.session
	instance, noInstance := s.dir.NewInstance(fmt.Sprintf("perf-filter-%d-%d", os.Getpid(), explanations.Add(1)))
	if noInstance != nil {
		return err // there is no right to write tracefs
	}
	if refused := instance.Event(src.String()).SetFilter(filter); refused != nil {
		if _, text, ok := strings.Cut(refused.Error(), errno.EINVAL.Error()+": "); ok {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	return errors.Join(err, instance.Remove())
}
