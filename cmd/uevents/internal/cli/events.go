package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// event is a registered user event.
type event struct {
	tracepoint *tracefs.Event
	format     tracepoint.Format
	listeners  []string // the kinds of attached tools
	source     string   // see reader.Decoder.Source
}

// isHeader reports whether each record has the fields of the event.
func (ev *event) isHeader() bool { return ev.source == "EventHeader" }

// events returns the matching events of the machine, sorted by name, and whether the kernel's filters support texts.
func events(dir *tracefs.Dir, match func(system, name string) bool) (list []event, textFilters bool, err error) {
	status, err := dir.Status()
	if err != nil {
		return nil, false, hintForList(err)
	}
	for _, s := range status.Events {
		t := dir.Event(s.Name)
		there, err := t.Exists()
		if err != nil {
			return nil, false, hintForList(err)
		}
		if !there { // user_events_status does not name the systems of events
			t = dir.Event(tracepoint.MultiSystem + ":" + s.Name)
		}
		if !match(t.System(), t.Name()) {
			continue
		}
		ev := event{tracepoint: t, listeners: s.UsedBy}
		if ev.format, err = t.Format(); errors.Is(err, fs.ErrNotExist) {
			continue // its program has just exited
		} else if err != nil {
			return nil, false, hintForList(err)
		}
		if d, err := reader.NewDecoder(t.System(), ev.format); err == nil {
			ev.source = d.Source()
		}
		list = append(list, ev)
	}
	slices.SortFunc(list, func(a, b event) int {
		return strings.Compare(a.tracepoint.Name()+"\x00"+a.tracepoint.System(), b.tracepoint.Name()+"\x00"+b.tracepoint.System())
	})
	return list, status.Max == 0, nil // before Linux 6.4, whose status has a limit, filters support only numbers
}

// eventJSON is an event of the machine in JSON.
type eventJSON struct {
	declarationJSON
	Listeners []string `json:"listeners"`
	Source    string   `json:"source"`
}

func newEventJSON(ev event) eventJSON {
	d, _ := ev.format.Declaration() // may be incomplete: other programs can declare any fields
	d.Name = ev.tracepoint.Name()
	e := eventJSON{newDeclarationJSON(d), append([]string{}, ev.listeners...), ev.source}
	e.System = ev.tracepoint.System()
	return e
}

// shortName returns an event's name as people give it: without the system if that is user_events.
func shortName(event string) string { return strings.TrimPrefix(event, tracepoint.System+":") }
