package reader

import (
	"errors"
	"fmt"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// ErrMalformed is wrapped by the errors about records that do not fit the format of their tracepoint.
var ErrMalformed = errors.New("malformed record")

// Decoder decodes the records of one tracepoint. It does not change and may be used concurrently, each time with another
// Event.
type Decoder struct {
	system, name string
	registered   string // the name that the program gave the event

	// Of events in the format EventHeader.
	isHeader bool
	header   eventheader.Name
	payload  int // offset of the header in a record

	// Of all others.
	typed   *typed.Decoder
	layout  *layout // nil if no layout is recognised
	setters []setter
}

// NewDecoder returns a decoder of the records of a tracepoint, of user_events or of another system, that has this
// format. The error wraps [tracepoint.ErrInvalid]: no kernel writes such a format.
func NewDecoder(system string, f tracepoint.Format) (*Decoder, error) {
	d := &Decoder{system: system, name: f.Name, registered: f.Name}
	if declaration, err := f.Declaration(); err == nil && system == tracepoint.MultiSystem {
		d.registered = declaration.Name
	}
	if len(f.Fields) > 0 && eventheader.IsDeclaration(tracepoint.Declaration{Fields: []tracepoint.Field{{Name: f.Fields[0].Name}}}) {
		// With another name than the format demands, it is an event of eight numbers.
		if name, err := eventheader.ParseName(d.registered); err == nil {
			d.isHeader, d.header, d.payload = true, name, f.Fields[0].Offset
			return d, nil
		}
	}
	t, err := typed.NewFormatDecoder(f, nil)
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", system, f.Name, err)
	}
	d.typed, d.layout = t, layoutOf(f.Fields)
	if d.layout != nil {
		d.setters = d.layout.setters(f.Fields)
	}
	return d, nil
}

// Decode decodes a record into ev: raw is all that the tracepoint recorded, common fields included. Bytes behind the
// record are ignored. Decode sets all fields of ev but those that say where and when the kernel took the record.
// It does not allocate for most records, once ev has been decoded into.
//
// ev refers to raw, as [Event] says. An error wraps [ErrMalformed]. ev then has the names of the tracepoint and is empty
// otherwise.
func (d *Decoder) Decode(raw []byte, ev *Event) error {
	ev.begin(d)
	var err error
	if d.isHeader {
		err = d.decodeHeader(raw, ev)
	} else {
		err = d.decodeTyped(raw, ev)
	}
	if err != nil {
		ev.begin(d)
		return fmt.Errorf("%w: tracepoint %s:%s: %w", ErrMalformed, d.system, d.name, err)
	}
	return nil
}
