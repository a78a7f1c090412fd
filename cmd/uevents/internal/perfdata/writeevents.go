package perfdata

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// event is an event with records in the file.
type event struct {
	key    eventKey
	id     uint64 // in records
	number int    // of the tracepoint, in the file
	format string
}

// eventKey identifies a tracepoint. After a registration with other fields, it has another number. Events in shared memory have
// none, but a decoder for each declaration.
type eventKey struct {
	system, name string
	number       uint16
	decoder      *reader.Decoder
}

// event returns the event of a record.
func (w *Writer) event(ev *reader.Event) (*event, error) {
	key := eventKey{system: ev.System, name: ev.Name, number: order.Uint16(ev.Raw)}
	if key.number == 0 {
		key.decoder = ev.Decoder
	}
	e := w.events[key]
	if e == nil {
		text, err := w.formatText(ev)
		if err == nil {
			e, err = w.add(key, text)
		}
		if err != nil {
			return nil, fmt.Errorf("recording %s:%s: %w", ev.System, ev.Name, err)
		}
	}
	return e, nil
}

// add adds an event with a format. Without a number and a decoder, its number is that of the format.
func (w *Writer) add(key eventKey, format string) (*event, error) {
	f, err := tracepoint.ParseFormat(format)
	if err != nil {
		return nil, err
	}
	if key.number == 0 && key.decoder == nil {
		key.number = uint16(f.ID)
	}
	e := &event{key: key, id: uint64(len(w.ordered) + 1), format: format}
	if e.number, err = w.freeNumber(f.ID); err != nil {
		return nil, err
	}
	if e.number != f.ID {
		e.format = withNumber(format, e.number)
	}
	w.ids[e.number] = true
	w.events[key] = e
	w.ordered = append(w.ordered, e)
	w.untold += len(e.format) + attrSize + 2*recordHeader
	w.ends += len(e.format) + attrSize + sectionSize + 2*recordHeader
	return e, nil
}

// freeNumber returns the number of a tracepoint in the file, by which perf finds the format of a record: that of the kernel, unless
// it has reused the number of a removed event, or the event is in shared memory, and has none.
func (w *Writer) freeNumber(number int) (int, error) {
	if number != 0 && !w.ids[number] {
		return number, nil
	}
	for number = 1 << 15; w.ids[number]; number++ {
	}
	if number > math.MaxUint16 {
		return 0, errors.New("perf.data has room for no more events")
	}
	return number, nil
}

// formatText returns the contents of the format file of a record's event, or if there is none, the format by which it was decoded: of
// events in shared memory, and of those that the kernel has removed meanwhile, or registered again with other fields. A recording of
// several files describes an event in each.
func (w *Writer) formatText(ev *reader.Event) (string, error) {
	number := int(order.Uint16(ev.Raw))
	if number == 0 && ev.Decoder != nil {
		return ev.Decoder.Format().String(), nil
	}
	text, err := w.o.Format(ev.System, ev.Name)
	if ev.Decoder == nil {
		return text, err
	}
	if f, parseErr := tracepoint.ParseFormat(text); err != nil || parseErr == nil && f.ID != number {
		return ev.Decoder.Format().String(), nil
	}
	return text, nil
}

// withNumber replaces the tracepoint's number in a format.
func withNumber(format string, number int) string {
	var b strings.Builder
	for line := range strings.Lines(format) {
		if strings.HasPrefix(line, "ID:") {
			line = fmt.Sprintf("ID: %d\n", number)
		}
		b.WriteString(line)
	}
	return b.String()
}
