package symbols

import "github.com/userevents/userevents-go/reader"

// Stack returns the functions on the stack of an event, innermost first, without those between the function that logged
// and the kernel. The frames are valid until the next call.
func (t *Table) Stack(ev *reader.Event) []Frame {
	if len(ev.Callchain) == 0 {
		return nil
	}
	t.Notice(ev)
	t.stack = t.appendFrames(t.stack[:0], ev.PID, ev.Callchain)
	return program(t.stack)
}

// Notice forgets the process of an event if it runs another program than before.
func (t *Table) Notice(ev *reader.Event) {
	p := t.process(ev.PID)
	if !t.recorded() && p.owner != nil && p.owner != ev.Process {
		t.Forget(ev.PID)
		p = t.process(ev.PID)
	}
	p.owner = ev.Process
}
