package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// event is a registered user event.
type event struct {
	system, name string
	format       tracepoint.Format
	listeners    []string        // the kinds of attached tools
	source       string          // see reader.Decoder.Source
	textFilters  bool            // filters compare texts
	programs     []memoryProgram // that have it in shared memory; none if it is the kernel's
}

// transport returns the way of the event's records.
func (ev *event) transport() uevents.Transport {
	if len(ev.programs) > 0 {
		return uevents.TransportMemory
	}
	return uevents.TransportKernel
}

// isHeader reports whether each record has the fields of the event.
func (ev *event) isHeader() bool { return ev.source == "EventHeader" }

// missing are the reasons for which events are not listed, or nil: the kernel's, which is no error if it can have none, or if there
// are others, and those of processes that this user may not look into.
type missing struct{ kernel, memory error }

// events returns the matching events of the machine, sorted by name.
func (e *env) events(match func(system, name string) bool) (list []event, not missing, err error) {
	dir, refused := e.dir()
	if refused == nil {
		list, refused = kernelEvents(dir, match)
	}
	if e.tracefs != "" {
		return list, missing{}, refused
	}
	others, processes, err := memoryEvents(match)
	if refused != nil && len(others) == 0 && !errors.Is(refused, uevents.ErrNotSupported) {
		return nil, missing{}, refused
	}
	list = append(list, others...)
	slices.SortStableFunc(list, func(a, b event) int { return strings.Compare(a.name, b.name) })
	return list, missing{refused, processes}, err
}

// kernelEvents returns the matching events of the kernel, sorted by name.
func kernelEvents(dir *tracefs.Dir, match func(system, name string) bool) (list []event, err error) {
	status, err := dir.Status()
	if err != nil {
		return nil, hintForList(err)
	}
	for _, s := range status.Events {
		t := dir.Event(s.Name)
		there, err := t.Exists()
		if err != nil {
			return nil, hintForList(err)
		}
		if !there { // user_events_status does not name the systems of events
			t = dir.Event(tracepoint.MultiSystem + ":" + s.Name)
		}
		if !match(t.System(), t.Name()) {
			continue
		}
		// Before Linux 6.4, whose status has a limit, filters support only numbers.
		ev := event{system: t.System(), name: t.Name(), listeners: s.UsedBy, textFilters: status.Max == 0}
		if ev.format, err = t.Format(); errors.Is(err, fs.ErrNotExist) {
			continue // its program has just exited
		} else if err != nil {
			return nil, hintForList(err)
		}
		if d, err := reader.NewDecoder(t.System(), ev.format); err == nil {
			ev.source = d.Source()
		}
		list = append(list, ev)
	}
	slices.SortFunc(list, func(a, b event) int {
		return strings.Compare(a.name+"\x00"+a.system, b.name+"\x00"+b.system)
	})
	return list, nil
}

// eventJSON is an event of the machine in JSON.
type eventJSON struct {
	declarationJSON
	Listeners []string        `json:"listeners"`
	Source    string          `json:"source"`
	Transport string          `json:"transport"`
	Programs  []memoryProgram `json:"programs,omitempty"` // that have it in shared memory
}

func newEventJSON(ev event) eventJSON {
	d, _ := ev.format.Declaration() // may be incomplete: other programs can declare any fields
	d.Name = ev.name
	e := eventJSON{newDeclarationJSON(d), append([]string{}, ev.listeners...), ev.source, ev.transport().String(), ev.programs}
	e.System = ev.system
	return e
}

// shortName returns an event's name as people give it: without the system if that is user_events.
func shortName(event string) string { return strings.TrimPrefix(event, tracepoint.System+":") }
