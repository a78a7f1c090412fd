package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/userevents/userevents-go/cmd/uevents/internal/flight"
	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
)

// pilot writes a file for each cause that the recorder reports.
type pilot struct {
	e        *env
	f        *flightFlags
	command  []string
	recorder *flight.Recorder
	into     rotation // begins the files
	limiter  *rate.Limiter
	names    []missingNames // of the condition on what is kept, of the trigger, and of --when

	mu    sync.Mutex
	notes notes // guarded by mu: the goroutine of the trigger reports, too

	files     int
	unwritten int    // files that could not be written
	fileErr   error  // of the last one
	held      uint64 // triggers that --at-most held back
	said      uint64 // of these, the number already reported
}

func (p *pilot) notice(n reader.Notice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes.notice(n)
}

func (p *pilot) flushNotes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes.flush()
}

// armed reports which records are kept, and which event triggers.
func (p *pilot) armed(o *flight.Options) error {
	kept, trigger, err := p.recorder.Stats()
	if err != nil {
		return err
	}
	what := output.Plural(len(kept.Events), "event")
	if len(kept.Events) == 0 && len(p.command) > 0 {
		what = "events of " + text.Printable(p.command[0])
	}
	if len(kept.Events) == 0 && kept.NeverMatch > 0 {
		p.e.say("! %s", never(&kept))
	}
	fmt.Fprintf(p.e.err, "keeping %s in %s on %s\n", what, output.RingSize(kept.BufferSize*kept.CPUs), output.Plural(kept.CPUs, "CPU"))
	if len(kept.Events) == 0 && len(p.command) == 0 {
		fmt.Fprintf(p.e.err, "no event matches yet (%ssee uevents list)\n", p.e.didYouMean(o.Reader.Events))
	}
	if len(kept.Events) > 0 && len(p.command) == 0 {
		p.e.sayUnmatched(o.Reader.Events, namesOf(kept.Events), !o.Reader.NoFollow)
	}
	if len(p.command) == 0 {
		p.f.sayAbsent(p.e)
	}
	if kept.BufferSize > 0 && kept.BufferSize < o.Reader.BufferSize {
		fmt.Fprintln(p.e.err, "! that is less than --keep: "+lessMemory)
	}
	var waits []string
	if o.Trigger != nil || len(o.TriggerEvents) > 0 {
		if len(trigger.Events) > 0 {
			p.e.sayUnmatched(o.TriggerEvents, namesOf(trigger.Events), !o.Reader.NoFollow)
		}
		names := mapped(trigger.Events, func(s reader.EventStats) string { return text.Printable(shortName(s.Name)) })
		if len(names) == 0 {
			names = append(names, "an event that is not there yet")
			if similar := p.e.didYouMean(o.TriggerEvents); similar != "" {
				names[0] += " (" + strings.TrimSpace(similar) + ")"
			}
		}
		slices.Sort(names)
		what := listed(names)
		if o.Trigger != nil {
			what += " with " + text.Printable(o.Trigger.String())
		}
		waits = append(waits, what)
	}
	if len(dumpSignals) > 0 {
		waits = append(waits, fmt.Sprintf("kill -USR1 %d", os.Getpid()))
	}
	if len(p.command) > 0 {
		waits = append(waits, "a failure of "+text.Printable(p.command[0]))
	}
	fmt.Fprintf(p.e.err, "waiting for %s; Ctrl-C ends\n", strings.Join(waits, ", or "))
	p.flushNotes()
	return nil
}

// run writes files until ctx is done, the duration is over, the requested number is written, or the command has ended. Then it waits
// for the command.
func (p *pilot) run(ctx context.Context) error {
	ctx, cancel := endAfter(ctx, p.f.duration)
	defer cancel()
	if len(p.command) == 0 {
		return errors.Join(p.fly(ctx), p.summary(), p.unwrittenError())
	}
	running, err := p.e.startChild(ctx, p.command, p.recorder.AttachProcess)
	if err != nil {
		return err
	}
	err = p.fly(running.recording)
	if running.runs() {
		p.e.say("! no more files are written, %s goes on", text.Printable(p.command[0]))
	}
	ended := running.wait()
	if err == nil && p.wants() {
		err = p.last(context.WithoutCancel(ctx), ended, ctx.Err() != nil)
	}
	return errors.Join(err, p.summary(), p.unwrittenError(), ended)
}

func (p *pilot) wants() bool { return p.f.dumps == 0 || p.files < p.f.dumps }

// fly writes files until ctx is done, or the requested number is written.
func (p *pilot) fly(ctx context.Context) error {
	for p.wants() {
		cause, err := p.recorder.Wait(ctx)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			err = p.caused(ctx, cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// caused writes a file, unless there are too many triggers.
func (p *pilot) caused(ctx context.Context, cause flight.Cause) error {
	if cause.Event != "" && !p.limiter.AllowN(time.Unix(0, int64(cause.Monotonic)), 1) {
		p.hold(cause)
		return nil
	}
	err := p.dump(ctx, cause)
	if cause.Event == "" {
		p.sayMissing() // it may be why there was no trigger
	}
	return err
}

// sayMissing says which names of the conditions no record has.
func (p *pilot) sayMissing() {
	for i := range p.names {
		p.names[i].say()
	}
}

// last writes a file if the command has failed, or if one of its last records is a trigger.
func (p *pilot) last(ctx context.Context, ended error, interrupted bool) error {
	if ended != nil && !interrupted {
		return p.dump(ctx, flight.Now(ended.Error()))
	}
	cause, ok, err := p.recorder.Last()
	if ok {
		err = errors.Join(err, p.caused(ctx, cause))
	}
	return err
}

// hold counts a trigger beyond the rate. It reports the first one after a file.
func (p *pilot) hold(cause flight.Cause) {
	if p.held == p.said {
		fmt.Fprintf(p.e.err, "! %s triggered again: held back by --at-most %s\n", describeCause(&cause), p.f.atMost)
	}
	p.held++
}

func describeCause(cause *flight.Cause) string {
	if cause.Event == "" {
		return text.Printable(cause.Message)
	}
	s := shortName(cause.Event)
	if cause.Process.Comm != "" || cause.Process.PID != 0 {
		s = string(output.AppendProcess([]byte(s+" of "), cause.Process.Comm, cause.Process.PID))
	}
	if cause.Message != "" {
		s += ": " + cause.Message
	}
	return text.Printable(s)
}

// dump writes a file. It removes a file without records, and reports one that it cannot write: the next one may find room.
func (p *pilot) dump(ctx context.Context, cause flight.Cause) error {
	p.said = p.held
	p.into.ctx = ctx
	r, err := p.into.begin()
	if err != nil {
		p.failed(&cause, err)
		return nil
	}
	d, err := p.recorder.Dump(&cause, r)
	closeErr := r.Close()
	p.flushNotes()
	switch fileErr := cmp.Or(r.failed, closeErr); {
	case fileErr != nil:
		p.failed(&cause, errors.Join(fileErr, r.discard()))
		return nil
	case err != nil: // the rings could not be read
		return errors.Join(err, r.discard())
	case d.Records == 0:
		fmt.Fprintf(p.e.err, "%s: there are no records\n", describeCause(&cause))
		return r.discard()
	}
	p.files++
	fmt.Fprintf(p.e.err, "%s: %s of %s in %.1f s", describeCause(&cause), output.Plural(d.Records, "record"), output.Plural(uint64(d.Processes), "process"), time.Duration(d.Last-min(d.Last, d.First)).Seconds())
	if d.Lost > 0 {
		fmt.Fprintf(p.e.err, ", %s lost", output.Count(d.Lost))
	}
	if d.Evicted > 0 {
		fmt.Fprintf(p.e.err, ", %s dropped as --hold was full", output.Count(d.Evicted))
	}
	fmt.Fprintln(p.e.err)
	_, err = fmt.Fprintln(p.e.out, strings.Join(r.names(), "\n"))
	return err
}

// failed reports and counts a file that could not be written.
func (p *pilot) failed(cause *flight.Cause, err error) {
	p.unwritten++
	if h, ok := errors.AsType[hintError](err); ok {
		err = h.error // it is about a file that stays
	}
	p.fileErr = err
	remedy := ""
	switch {
	case noSpace(err):
		remedy = "; make room"
	case errors.Is(err, fs.ErrNotExist):
		remedy = "; create the directory again"
	}
	p.e.say("! %s: no file is written: %s%s", describeCause(cause), err, remedy)
}

// unwrittenError returns an error if files could not be written.
func (p *pilot) unwrittenError() error {
	if p.unwritten == 0 {
		return nil
	}
	return fmt.Errorf("%s could not be written, the last one: %w", output.Plural(p.unwritten, "file"), p.fileErr)
}

func (p *pilot) summary() error {
	p.flushNotes()
	kept, trigger, err := p.recorder.Stats()
	if err != nil {
		return err
	}
	p.sayMissing()
	p.e.say("%s", p.summaryLine(&kept, &trigger))
	return nil
}

func (p *pilot) summaryLine(kept, trigger *reader.Stats) string {
	total := &kept.Total
	line := fmt.Sprintf("%s matched = %s read + %s overwritten + %s still kept + %s lost",
		output.Count(total.Matched), output.Count(total.Read), output.Count(total.Overwritten), output.Count(total.Pending), output.Count(total.Lost))
	if trigger.Selected > 0 {
		line += "; " + output.Plural(trigger.Selected, "trigger")
		if p.held > 0 {
			line += fmt.Sprintf(", %s held back", output.Count(p.held))
		}
	}
	line += "; " + output.Plural(p.files, "file")
	if p.unwritten > 0 {
		line += fmt.Sprintf(", %d could not be written", p.unwritten)
	}
	line += gaps(kept)
	if trigger.CPUErr != nil {
		line += "; ! triggers of a CPU that came online are missing: " + trigger.CPUErr.Error()
	}
	return line
}
