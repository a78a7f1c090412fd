package flight

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Options are the choices of a Recorder.
type Options struct {
	// Reader selects the events that are kept. Its BufferSize is that of a ring: there is one for each CPU. Notify is
	// called by Dump, and for the trigger by a goroutine of the recorder.
	Reader reader.Options
	// Keep is how long ago the oldest record may be that is written; 0 means that all in the rings are.
	Keep time.Duration
	// TriggerEvents are the patterns of the events that trigger, and Trigger is the condition on their fields, in the
	// kernel's syntax. Without patterns, the condition holds for all events that are kept and have the fields; without
	// a condition, each record of TriggerEvents triggers; without both, Wait waits for the caller's signal alone.
	TriggerEvents []string
	Trigger       string
}

// Recorder keeps the latest records of events. Its methods are called by one goroutine, except Signal.
type Recorder struct {
	o       Options
	kept    *reader.Reader
	trigger *reader.Reader // nil if there is none

	signal   chan struct{}
	triggers chan trigger
	stopped  chan struct{} // closed when no triggers come any more
	stop     context.CancelFunc

	dumped time.Time // when the last dump was
	lost   map[string]uint64
}

type trigger struct {
	cause Cause
	err   error
}

// Cause is why a dump is due.
type Cause struct {
	Event   string // SYSTEM:NAME of the trigger; empty if it is a signal
	Time    time.Time
	Process reader.Process
	Message string
}

// triggerRing holds a few records of the largest size.
const triggerRing = 32 << 10

// Arm attaches to the events. Errors are those of [reader.Open]; the error about a filter says which event refused it.
func Arm(dir *tracefs.Dir, o Options) (*Recorder, error) {
	r := &Recorder{
		o: o, signal: make(chan struct{}, 1), triggers: make(chan trigger, 16), stopped: make(chan struct{}), lost: map[string]uint64{},
	}
	kept := o.Reader
	kept.Overwrite = true
	var err error
	if r.kept, err = reader.Open(dir, &kept); err != nil {
		return nil, fmt.Errorf("keeping events: %w", err)
	}
	if o.Trigger == "" && len(o.TriggerEvents) == 0 {
		close(r.stopped)
		r.stop = func() {}
		return r, nil
	}
	trigger := reader.Options{
		Events: o.TriggerEvents, Excludes: o.Reader.Excludes, Filter: o.Trigger, Cgroup: o.Reader.Cgroup,
		Processes: o.Reader.Processes, Comms: o.Reader.Comms, BufferSize: triggerRing, Immediate: true, Notify: r.triggerNotice,
	}
	if len(trigger.Events) == 0 {
		trigger.Events = o.Reader.Events
	}
	if r.trigger, err = reader.Open(dir, &trigger); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the trigger: %w", err), r.kept.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go r.watch(ctx)
	return r, nil
}

// triggerNotice passes on which events cannot trigger, but not those that the condition cannot be about, because they lack
// its fields. What else happens to events is told of those that are kept.
func (r *Recorder) triggerNotice(n reader.Notice) {
	lacksFields := len(r.o.TriggerEvents) == 0 && errors.Is(n.Err, syscall.EINVAL)
	if n.Kind == reader.NoticeFailed && !lacksFields && r.o.Reader.Notify != nil {
		r.o.Reader.Notify(n)
	}
}

// watch passes triggers on until ctx is done.
func (r *Recorder) watch(ctx context.Context) {
	defer close(r.stopped)
	defer context.AfterFunc(ctx, func() { r.trigger.SetDeadline(time.Now()) })()
	var ev reader.Event
	for {
		err := r.trigger.Next(&ev)
		if ctx.Err() != nil {
			return
		}
		t := trigger{err: err}
		if err == nil {
			t.cause = Cause{Event: ev.System + ":" + ev.Name, Time: ev.Time, Message: ev.Message}
			if ev.Process != nil {
				t.cause.Process = *ev.Process
			}
		}
		if err != nil {
			select {
			case r.triggers <- t:
			case <-ctx.Done():
			}
			return
		}
		select {
		case r.triggers <- t:
		default: // enough wait while the caller is busy: the next dump has the records of this one, too
		}
	}
}

// Signal makes Wait return as a trigger does. It may be called concurrently.
func (r *Recorder) Signal() {
	select {
	case r.signal <- struct{}{}:
	default: // one is under way
	}
}

// Wait waits for a trigger that came after the last dump, or for Signal. It returns the context's error when ctx is done.
func (r *Recorder) Wait(ctx context.Context) (Cause, error) {
	for {
		select {
		case <-ctx.Done():
			return Cause{}, ctx.Err()
		case <-r.signal:
			return Cause{Time: time.Now()}, nil
		case t := <-r.triggers:
			if t.err == nil && !t.cause.Time.After(r.dumped) {
				continue // the dump has its record
			}
			return t.cause, t.err
		}
	}
}

// Dump is what a dump has.
type Dump struct {
	Records     uint64
	Processes   int           // that wrote them
	First, Last time.Time     // of the records
	Lost        uint64        // since the dump before: mostly while that one was taken
	After       time.Duration // how long after the cause the rings were copied
}

// Dump writes the records that are in the rings, and were in no dump before. It does not close w.
func (r *Recorder) Dump(cause Cause, w output.Writer) (Dump, error) {
	now := time.Now()
	d := Dump{After: now.Sub(cause.Time)}
	r.dumped = now
	oldest := time.Time{}
	if r.o.Keep > 0 {
		oldest = cause.Time.Add(-r.o.Keep)
	}
	processes := map[int32]bool{}
	err := r.kept.Snapshot(func(ev *reader.Event) error {
		if ev.Time.Before(oldest) {
			return nil
		}
		if d.Records == 0 {
			d.First = ev.Time
		}
		d.Records++
		d.Last = ev.Time
		processes[ev.PID] = true
		return w.Write(ev)
	})
	d.Processes = len(processes)
	if err != nil {
		return d, err
	}
	return d, r.countLost(&d, w)
}

// countLost adds what was lost since the last dump.
func (r *Recorder) countLost(d *Dump, w output.Writer) error {
	st, err := r.kept.Stats()
	if err != nil {
		return err
	}
	now := map[string]uint64{}
	for _, s := range st.Sources {
		now[s.Name] += s.Lost
	}
	for name, n := range now {
		if more := n - min(n, r.lost[name]); more > 0 {
			d.Lost += more
			if err := w.Lost(name, more, d.Last); err != nil {
				return err
			}
		}
	}
	r.lost = now
	return nil
}

// Stats returns the counts of the events that are kept, and of those that trigger. The latter are zero without a trigger.
func (r *Recorder) Stats() (kept, trigger reader.Stats, err error) {
	if kept, err = r.kept.Stats(); err != nil || r.trigger == nil {
		return kept, trigger, err
	}
	trigger, err = r.trigger.Stats()
	return kept, trigger, err
}

// Close detaches from all events. It may be called more than once.
func (r *Recorder) Close() error {
	r.stop()
	<-r.stopped
	err := r.kept.Close()
	if r.trigger != nil {
		err = errors.Join(err, r.trigger.Close())
	}
	return err
}
