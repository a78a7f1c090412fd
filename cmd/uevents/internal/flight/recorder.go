// Package flight keeps the latest records of events in the kernel's rings, and writes them when a trigger fires.
//
// Each event is opened twice: without a filter, into rings that are overwritten and wake no reader; and with the filter
// of the trigger, into a small ring whose records wake the recorder. Between triggers the recorder sleeps; the programs
// pay for their records and for the filter.
package flight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// Options configure a Recorder.
type Options struct {
	// Reader selects the events to keep. Its BufferSize is the size of each CPU's ring. Dump calls its Notify; for the
	// trigger, a goroutine of the recorder does.
	Reader reader.Options
	// Keep is the maximum age of the records to write; 0 means all records in the rings.
	Keep time.Duration
	// TriggerEvents are patterns of the events that trigger, and Trigger is a condition on their records. Without patterns,
	// the condition applies to all events that are kept; without a condition, each record of TriggerEvents triggers; without
	// both, Wait waits only for Signals. If the kernel cannot evaluate the condition, the programs copy each record twice.
	TriggerEvents []string
	Trigger       *where.Condition
	// Tail selects the records to write by others; nil writes all.
	Tail *tail.Options
	// Signals make Wait return, as a trigger does.
	Signals <-chan os.Signal
}

// Recorder keeps the latest records of events. One goroutine calls its methods, except for AttachProcess.
type Recorder struct {
	o       Options
	kept    *reader.Reader
	trigger *reader.Reader // nil without a trigger

	triggers chan trigger
	stopped  chan struct{} // closed after the last trigger
	stop     context.CancelFunc

	dumped uint64 // when the last dump was, in the time of Cause.Monotonic
	lost   map[string]uint64
}

type trigger struct {
	cause Cause
	err   error
}

// Cause is the reason for a dump.
type Cause struct {
	Event     string // SYSTEM:NAME of the trigger; empty for another cause, which Message says
	Monotonic uint64 // CLOCK_MONOTONIC in nanoseconds
	Process   record.Process
	Message   string
}

// triggerRing holds the records of 100 ms that the trigger's condition is evaluated on here.
const triggerRing = 256 << 10

// Arm attaches to the events. Errors are those of [reader.Open].
func Arm(o Options) (*Recorder, error) {
	r := &Recorder{
		o: o, triggers: make(chan trigger, 16), stopped: make(chan struct{}), lost: map[string]uint64{},
	}
	kept := o.Reader
	kept.Read = reader.ReadSnapshot
	var err error
	if r.kept, err = reader.Open(&kept); err != nil {
		return nil, fmt.Errorf("keeping events: %w", err)
	}
	r.kept.CheckNotices() // the next ones come with the first dump, which may be much later
	if o.Trigger == nil && len(o.TriggerEvents) == 0 {
		close(r.stopped)
		r.stop = func() {}
		return r, nil
	}
	trigger := o.triggerReader()
	trigger.Notify = r.triggerNotice
	if r.trigger, err = reader.Open(&trigger); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the trigger: %w", err), r.kept.Close())
	}
	st, err := r.trigger.Stats()
	if err == nil && len(st.Events) == 0 && st.NeverMatch > 0 {
		err = fmt.Errorf("no record of the events that are there can meet %s: %w", o.Trigger, fs.ErrInvalid)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the trigger: %w", err), r.trigger.Close(), r.kept.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go r.watch(ctx)
	return r, nil
}

// triggerReader returns the options of the reader that waits for the trigger.
func (o *Options) triggerReader() reader.Options {
	trigger := reader.Options{
		Selection: reader.Selection{Events: o.TriggerEvents, Excludes: o.Reader.Excludes, Where: o.Trigger, Processes: o.Reader.Processes}, Cgroup: o.Reader.Cgroup, NoFollow: o.Reader.NoFollow, MaxEvents: o.Reader.MaxEvents,
		Transport:  o.Reader.Transport,
		BufferSize: triggerRing,
	}
	if len(trigger.Events) == 0 {
		trigger.Events = o.Reader.Events
	}
	return trigger
}

// triggerNotice passes on the notices of events that cannot trigger. The reader of the kept events delivers all other notices.
func (r *Recorder) triggerNotice(n reader.Notice) {
	if n.Kind == reader.NoticeFailed && r.o.Reader.Notify != nil {
		r.o.Reader.Notify(n)
	}
}

// watch sends triggers to Wait until ctx is done.
func (r *Recorder) watch(ctx context.Context) {
	defer close(r.stopped)
	for ev, err := range r.trigger.Events(ctx) {
		if err != nil {
			select {
			case r.triggers <- trigger{err: err}:
			case <-ctx.Done():
			}
			return
		}
		select {
		case r.triggers <- trigger{cause: causeOf(ev)}:
		default: // enough triggers are pending: the next dump has the records of this one, too
		}
	}
}

func causeOf(ev *record.Record) Cause {
	cause := Cause{Event: ev.System + ":" + ev.Name, Monotonic: ev.Monotonic, Message: ev.Message}
	if ev.Process != nil {
		cause.Process = *ev.Process
	}
	return cause
}

// Now returns a cause that is no record.
func Now(message string) Cause {
	return Cause{Monotonic: uint64(sys.Monotonic()), Message: message}
}

// AttachProcess is [reader.Reader.AttachProcess]. It may be called concurrently.
func (r *Recorder) AttachProcess(pid int) {
	r.kept.AttachProcess(pid)
	if r.trigger != nil {
		r.trigger.AttachProcess(pid)
	}
}

// Last ends the waiting for triggers. It returns the last one after the last dump that Wait has not returned, and false if there is none.
func (r *Recorder) Last() (last Cause, ok bool, err error) {
	if r.trigger == nil {
		return last, false, nil
	}
	err = r.trigger.Stop()
	<-r.stopped
	for len(r.triggers) > 0 {
		t := <-r.triggers
		if err = errors.Join(err, t.err); t.err == nil && t.cause.Monotonic > r.dumped {
			last, ok = t.cause, true
		}
	}
	return last, ok, err
}

// Wait waits for a signal, or for a trigger after the last dump. It returns the context's error when ctx is done.
func (r *Recorder) Wait(ctx context.Context) (Cause, error) {
	for {
		select {
		case <-ctx.Done():
			return Cause{}, ctx.Err()
		case <-r.o.Signals:
			return Now("signal"), nil
		case t := <-r.triggers:
			if t.err == nil && t.cause.Monotonic <= r.dumped {
				continue // the dump has its record
			}
			return t.cause, t.err
		}
	}
}

// Dump describes the contents of a dump.
type Dump struct {
	Records     uint64
	Processes   int    // number of processes that wrote them
	First, Last uint64 // Event.Monotonic of the records
	Lost        uint64 // records lost since the previous dump, mostly while it was taken
	Evicted     uint64 // records that Options.Tail had no room for
}

// Dump writes the records in the rings that no earlier dump has. It does not close w. If the process of the cause had exited
// before its record was read, cause lacks its name: Dump sets it from the kept records.
func (r *Recorder) Dump(cause *Cause, w output.Writer) (Dump, error) {
	r.dumped = uint64(sys.Monotonic())
	var d Dump
	oldest := r.oldest(cause)
	processes := map[int32]bool{}
	var at time.Time // of the last record
	write := func(ev *record.Record) error {
		if p := &cause.Process; p.Comm == "" && p.PID != 0 && ev.PID == p.PID && ev.Process != nil {
			*p = *ev.Process
		}
		if ev.Monotonic < oldest {
			return nil
		}
		if d.Records == 0 || ev.Monotonic < d.First {
			d.First = ev.Monotonic
		}
		d.Records++
		if ev.Monotonic >= d.Last { // with Options.Tail, records before come later
			d.Last, at = ev.Monotonic, ev.Time
		}
		processes[ev.PID] = true
		return w.Write(ev)
	}
	err := r.snapshot(&d, write)
	d.Processes = len(processes)
	if err != nil {
		return d, err
	}
	return d, r.countLost(&d, w, at)
}

// snapshot calls write for the records in the rings that Options.Tail lets through.
func (r *Recorder) snapshot(d *Dump, write func(*record.Record) error) error {
	if r.o.Tail == nil {
		return r.kept.Snapshot(write)
	}
	buffer, err := tail.New(*r.o.Tail)
	if err != nil {
		return err
	}
	err = r.kept.Snapshot(func(ev *record.Record) error { return buffer.Pass(ev, write) })
	d.Evicted = buffer.Stats().Evicted
	return err
}

// oldest returns the time of the oldest record that is written, in that of Cause.Monotonic.
func (r *Recorder) oldest(cause *Cause) uint64 {
	if r.o.Keep <= 0 {
		return 0
	}
	return cause.Monotonic - min(cause.Monotonic, uint64(r.o.Keep))
}

// countLost adds what was lost since the last dump, until a time.
func (r *Recorder) countLost(d *Dump, w output.Writer, at time.Time) error {
	st, err := r.kept.Stats()
	if err != nil {
		return err
	}
	now := map[string]uint64{}
	for _, s := range st.Events {
		now[s.Name] += s.Lost
	}
	for name, n := range now {
		if more := n - min(n, r.lost[name]); more > 0 {
			d.Lost += more
			if err := w.Lost(name, more, at); err != nil {
				return err
			}
		}
	}
	r.lost = now
	return nil
}

// Stats returns the counts of the kept events, and of the events that trigger. The latter are zero without a trigger.
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

// ParseRate parses a rate such as 2/h, 10/m or 1/90s: as many at once, and as many in each period. The limiter takes any clock that is not
// set back.
func ParseRate(s string) (*rate.Limiter, error) {
	count, per, ok := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if per != "" && strings.Trim(per, "smh") == "" {
		per = "1" + per
	}
	d, perErr := time.ParseDuration(per)
	if !ok || err != nil || perErr != nil || n <= 0 || d <= 0 {
		return nil, fmt.Errorf("%q is no rate, such as 2/h or 1/90s", s)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/d.Seconds()), n), nil
}
