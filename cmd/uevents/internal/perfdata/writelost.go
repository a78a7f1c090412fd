package perfdata

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

// loss is how many records of an event were lost until a time.
type loss struct {
	name string // SYSTEM:NAME
	n    uint64
	at   time.Time
}

// Lost adds the number of records of an event, named SYSTEM:NAME, that the kernel lost. The event need not have records: an event that
// loses all of them is in the file for its losses. The name is empty if it is not known.
func (w *Writer) Lost(name string, n uint64, at time.Time) error {
	switch l := (loss{name, n, at}); {
	case w.closed:
		return errClosed
	case w.err != nil:
		return w.err
	case !w.timed: // the first record says what the clock of the file shows
		w.addEarly(l)
		return nil
	default:
		return w.lost(l)
	}
}

// addEarly keeps a loss until there is a time. Those of an event are one.
func (w *Writer) addEarly(l loss) {
	if i := slices.IndexFunc(w.early, func(e loss) bool { return e.name == l.name }); i >= 0 {
		w.early[i].n += l.n
		return
	}
	w.early = append(w.early, l)
}

// writeEarly writes the losses from before the first record.
func (w *Writer) writeEarly() error {
	early := w.early
	w.early = nil
	for _, l := range early {
		if err := w.lost(l); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) lost(l loss) error {
	var id uint64 // of no event
	switch {
	case l.name != "":
		e, err := w.eventOf(l.name)
		if err != nil {
			return fmt.Errorf("recording lost records of %s: %w", l.name, err)
		}
		id = e.id
	case len(w.ordered) == 0:
		return nil // a file has no record before its first event
	}
	end := w.begin(typeLost, 0)
	w.u64(id, l.n)
	w.trailer(0, 0, uint64(l.at.UnixNano())-w.wall+w.clock, 0, id)
	end()
	return w.flushIfFull()
}

// eventOf returns the event with a name, SYSTEM:NAME. It adds one that has no records yet: with its fields as far as Format knows them,
// which it does not of events in shared memory.
func (w *Writer) eventOf(name string) (*event, error) {
	for _, e := range w.ordered {
		if e.key.system+":"+e.key.name == name {
			return e, nil
		}
	}
	system, name, _ := strings.Cut(name, ":")
	text, err := w.o.Format(system, name)
	if err == nil {
		return w.add(eventKey{system: system, name: name}, text)
	}
	format := tracepoint.Format{Name: name}
	return w.add(eventKey{system: system, name: name}, format.String())
}
