package cli

import (
	"slices"
	"strings"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// memoryProgram is a program that offers events in shared memory.
type memoryProgram struct {
	PID     int32  `json:"pid"`
	Program string `json:"program"`
	UID     uint32 `json:"uid"`
	Reason  string `json:"reason"` // for not using the kernel's user_events

	events []memoryEvent
}

// memoryEvent is an event of a program.
type memoryEvent struct {
	declaration tracepoint.Declaration
	enabled     bool // by a tool
}

// memoryEvents returns the matching events in shared memory, sorted by name. Programs share those with the same declaration. refused is
// that this user may not look into some processes, or nil.
func memoryEvents(match func(system, name string) bool) (list []event, refused, err error) {
	programs, refused, err := memoryPrograms()
	if err != nil {
		return nil, nil, err
	}
	known := map[string]int{} // index in list, by declaration
	for _, p := range programs {
		for _, m := range p.events {
			if !match(tracepoint.System, m.declaration.Name) {
				continue
			}
			text := m.declaration.String()
			i, ok := known[text]
			if !ok {
				i = len(list)
				known[text] = i
				ev := event{system: tracepoint.System, name: m.declaration.Name, format: m.declaration.Format(), textFilters: true}
				if d, err := reader.NewDecoder(ev.system, ev.format); err == nil {
					ev.source = d.Source()
				}
				list = append(list, ev)
			}
			ev := &list[i]
			if m.enabled {
				ev.listeners = []string{listenerMemory}
			}
			if !slices.ContainsFunc(ev.programs, func(q memoryProgram) bool { return q.PID == p.PID }) {
				ev.programs = append(ev.programs, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b event) int { return strings.Compare(a.name, b.name) })
	return list, refused, nil
}

// listenerMemory is the kind of tools that attach to events in shared memory: those of this project.
const listenerMemory = "reader"
