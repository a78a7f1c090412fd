package usereventsreceiver

import (
	"errors"
	"io/fs"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// source is the part of reader.Reader that a session uses. Tests have their own, with the records of a simulated kernel.
type source interface {
	Next(ev *reader.Event) error
	SetDeadline(t time.Time)
	Add(list []reader.Addition) error
	CheckNotices()
	State() reader.State
	Stats() (reader.Stats, error)
	Stop() error
	Close() error
}

// opener opens a source.
type opener func(o *reader.Options) (source, error)

func openReader(o *reader.Options) (source, error) {
	r, err := reader.Open(o)
	if err != nil {
		return nil, explain(err, func() error { return uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err })
	}
	return r, nil
}

// explain replaces the error of a file that is missing by what probe says of it: that the kernel has no user_events, or that this cannot be told.
func explain(err error, probe func() error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if reason := probe(); errors.Is(reason, uevents.ErrNotSupported) || errors.Is(reason, fs.ErrNotExist) {
		return reason
	}
	return err
}

// kinds returns those of the signals that pipelines take, or nil if these are all. A signal without a pipeline is not even made.
func (c *Config) kinds(out *outputs) (list []reader.Kind) {
	logs, traces, metrics := out.logs.consume != nil, out.traces.consume != nil, out.metrics.consume != nil
	if c.Mapping == mappingRaw || logs && traces && metrics {
		return nil
	}
	if logs {
		list = append(list, reader.KindLog, reader.KindOther)
	}
	if logs && c.Spans.Starts {
		list = append(list, reader.KindSpanStart)
	}
	if traces {
		list = append(list, reader.KindSpan, reader.KindSpanEvent, reader.KindSpanLink)
	}
	if metrics {
		list = append(list, reader.KindMetric)
	}
	return list
}

// readerOptions returns the options of the configuration. Records are decoded later, so that the rings are emptied fast.
func (c *Config) readerOptions(out *outputs, notify func(reader.Notice)) (*reader.Options, error) {
	where, err := c.where()
	b := c.budget(processors())
	events := c.Events
	if len(events) == 0 {
		events = []string{"*"}
	}
	return &reader.Options{
		Events: events, Excludes: c.Exclude, Where: where, Cgroup: c.Cgroup, Transport: transports[c.Transport],
		DetachAtExit: c.Discovery.ReleaseOnExit, CgroupID: true, Partial: true, MaxEvents: c.Discovery.MaxEvents, Poll: c.Discovery.PollInterval,
		BufferSize: b.ring, ProgramMemory: b.programs, Latency: c.Ring.Latency, Window: c.Ring.ReorderWindow,
		Kinds: c.kinds(out), Decode: reader.DecodeOptions{Mode: reader.DecodeNone, Reuse: true}, Notify: notify,
		Share: reader.Share{Records: c.ProgramShare.RecordsPerSecond, Bytes: c.ProgramShare.KiBPerSecond << 10},
	}, err
}
