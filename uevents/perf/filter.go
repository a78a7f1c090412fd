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

// SetFilter replaces the filter of the event, also while ReadInto runs. Empty means no filter. A record that matches
// both filters is neither lost nor read twice; with AttachOptions.CountOnly, one written during the call may count
// twice. On error the old filter remains; errors are those of Attach.
//
// The kernel cannot replace the filter of a descriptor: for a moment there are two descriptors for each CPU, and
// closing the old ones takes about 30 ms.
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

// setFilter replaces the descriptors. The caller closes the old ones.
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
		format, _ := src.tracepoint.Format() // on error, padding may hide a duplicate
		s.mu.Lock()
		src.fields = format.Fields
		src.leaving += len(old)
		if src.replacing == nil { // else records of the previous replacement are unread
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
	id  uint64 // of the descriptor; 0 after the duplicate
	tid int32
	raw []byte
}

// isDuplicate reports whether a newer descriptor of the source recorded the same hit of the tracepoint in the previous
// sample of the same CPU. The kernel writes to all descriptors of a tracepoint without preemption, the newest first, so
// the records of one hit are consecutive.
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

// withoutPadding returns the part of Raw that the program wrote, according to the fields. The kernel pads Raw with up
// to 7 bytes of older records, which differ between two records of one hit.
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

// explain adds the kernel's explanation to the error of a filter. Perf gives none, so explain sets the filter in a
// temporary ftrace instance, which does not affect other tools.
func (src *Source) explain(filter string, err error) error {
	if slices.ContainsFunc([]error{errno.EPERM, errno.ENOENT, errno.ESRCH}, func(e error) bool { return errors.Is(err, e) }) {
		err = errno.EINVAL // the kernel returns -1, -2 and -3 for unmatched parentheses and quotes (calc_stack)
	}
	err = fmt.Errorf("filter %q: %w", filter, err)
	s := src.session
	instance, noInstance := s.dir.NewInstance(fmt.Sprintf("perf-filter-%d-%d", os.Getpid(), explanations.Add(1)))
	if noInstance != nil {
		return err // no permission to write tracefs
	}
	if refused := instance.Event(src.String()).SetFilter(filter); refused != nil {
		if _, text, ok := strings.Cut(refused.Error(), errno.EINVAL.Error()+": "); ok {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	return errors.Join(err, instance.Remove())
}
