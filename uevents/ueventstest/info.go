package ueventstest

import "github.com/userevents/userevents-go/tracepoint"

// EventInfo describes an event of a kernel, and what holds it.
type EventInfo struct {
	Name string

	// Declaration is what the event was registered as. Do not change its Fields.
	Declaration tracepoint.Declaration

	Files  int // open user_events_data files that registered it
	Words  int // enable bits that follow it; 0 with the status generations
	Ftrace int // tools of this kind
	Perf   int // tools of this kind
}

// Events describes all events, in the order of their registration.
func (k *Kernel) Events() []EventInfo {
	k.events.Lock()
	defer k.events.Unlock()
	var out []EventInfo
	for _, e := range k.events.Events() {
		info := EventInfo{
			Name:        e.Decl.Name,
			Declaration: e.Decl,
			Files:       e.Files(),
			Words:       len(e.Bits()),
		}
		for _, p := range e.State.attached() {
			if p.tool.kind == Perf {
				info.Perf++
			} else {
				info.Ftrace++
			}
		}
		out = append(out, info)
	}
	return out
}
