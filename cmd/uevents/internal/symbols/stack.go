package symbols

import (
	"slices"

	"github.com/userevents/userevents-go/reader"
)

// Stack returns the functions on the stack of an event, innermost first, without those between the function that logged
// and the kernel. The frames are valid until the next call.
func (t *Table) Stack(ev *reader.Event) []Frame {
	if len(ev.Callchain) == 0 {
		return nil
	}
	t.Notice(ev)
	t.stack = t.appendFrames(t.stack[:0], ev.PID, ev.Callchain)
	return program(once(t.stack))
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

// once drops frames that a stack has twice: beside the address of a call that was inlined, runtime.Callers, which stacks in shared
// memory come from, also has one for each of the functions around it. It reuses the memory of frames.
func once(frames []Frame) []Frame {
	kept := frames[:0]
	var around []Frame // functions around the last call, unless they were dropped
	for len(frames) > 0 {
		n := 1 + slices.IndexFunc(frames, func(f Frame) bool { return !f.Inlined })
		if n == 0 {
			n = len(frames)
		}
		call := frames[:n]
		frames = frames[n:]
		if len(around) > 0 && slices.EqualFunc(around, call, sameCall) {
			around = around[1:]
			continue
		}
		kept = append(kept, call...)
		around = kept[len(kept)-n+1:]
	}
	return kept
}

func sameCall(a, b Frame) bool { return a.Func == b.Func && a.File == b.File && a.Line == b.Line }
