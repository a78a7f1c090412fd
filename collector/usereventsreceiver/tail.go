package usereventsreceiver

import (
	"errors"
	"fmt"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/tail"
)

// Validate reports all errors.
func (c *TailConfig) Validate() error {
	var errs []error
	if c.When != "" {
		if _, err := reader.ParseCondition(c.When); err != nil {
			errs = append(errs, fmt.Errorf("when: %w", err))
		}
	}
	if c.By == "" {
		errs = append(errs, errors.New("by: it is empty, and names the value that records share, such as trace_id"))
	}
	return errors.Join(append(errs,
		within("window", c.Window, time.Millisecond, time.Hour),
		within("size_mib", c.SizeMiB, tail.MinBytes>>20, 1<<20))...)
}

// buffer returns the buffer of the records that are held, or nil if all are collected.
func (c *TailConfig) buffer() (*tail.Buffer, error) {
	if c.When == "" {
		return nil, nil
	}
	when, err := reader.ParseCondition(c.When)
	if err != nil {
		return nil, err
	}
	return tail.New(tail.Options{When: when, By: c.By, Window: c.Window, Bytes: c.SizeMiB << 20})
}

// pass converts a decoded event, and what it lets through, unless it is to be held.
func (w *worker) pass(ev *reader.Event) {
	if w.tail == nil || ev.Kind == reader.KindMetric {
		w.add(ev, w.event)
		return
	}
	w.tail.Add(ev)
	for through := w.tail.Next(); through != nil; through = w.tail.Next() {
		event := w.event
		if through != ev {
			event = through.System + ":" + through.Name
		}
		w.add(through, event)
	}
}

// countTail adds to the telemetry the records that are not collected because of the tail.
func (w *worker) countTail() {
	if w.tail == nil {
		return
	}
	st, before := w.tail.Stats(), w.tailStats
	w.tailStats = st
	w.exclude("tail_window", st.Expired-before.Expired)
	w.exclude("tail_room", st.Evicted-before.Evicted)
	w.exclude("tail_value", st.Without-before.Without)
	w.telemetry.ReceiverUserEventsTailSize.Record(w.ctx, int64(st.Bytes), w.telemetry.with())
}

// endTail counts the records that are held at the end.
func (w *worker) endTail() {
	if w.tail != nil {
		w.exclude("tail_window", uint64(w.tail.Stats().Held))
	}
}
