package reader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// ErrMalformed reports a record that does not fit the format of its tracepoint. Errors of [Decoder.Decode] wrap it.
var ErrMalformed = errors.New("malformed record")

// Decoder decodes the records of one tracepoint. It is immutable: goroutines may share it if each decodes into its own
// Event.
type Decoder struct {
	system, name string
	registered   string // the name that the program gave the event

	plain   bool // fields have no meaning
	leveled bool // some records may be copies of declared ones: they have the field duplicate

	// For EventHeader events:
	isHeader bool
	header   eventheader.Name
	payload  int // offset of the header in a record

	// For all other events:
	typed   *typed.Decoder
	layout  *layout // nil if no layout is recognised
	setters []setter
	whole   bool // all fields have a setter
	// keepsJSON leaves attributes in Event.FieldsJSON where the event has no other fields.
	keepsJSON bool
}

// NewDecoder returns a decoder for the records of a tracepoint with this format, of user_events or of another system.
// An error wraps [tracepoint.ErrInvalid]: no kernel writes such a format.
func NewDecoder(system string, f tracepoint.Format) (*Decoder, error) {
	d := &Decoder{system: system, name: f.Name, registered: f.Name}
	if declaration, err := f.Declaration(); err == nil && system == tracepoint.MultiSystem {
		d.registered = declaration.Name
	}
	if len(f.Fields) > 0 && eventheader.IsDeclaration(tracepoint.Declaration{Fields: []tracepoint.Field{{Name: f.Fields[0].Name}}}) {
		// Without a valid EventHeader name, the event is a typed event of eight numbers.
		if name, err := eventheader.ParseName(d.registered); err == nil {
			d.isHeader, d.header, d.payload = true, name, f.Fields[0].Offset
			return d, nil
		}
	}
	fields := f.Fields
	d.layout = layoutOf(fields)
	if d.layout == nil || d.layout.applies != nil { // records are, or can be, of Kind Other
		f = numberFormat(f)
	}
	t, err := typed.NewFormatDecoder(f, nil)
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", system, f.Name, err)
	}
	d.typed = t
	d.leveled = slices.ContainsFunc(fields, func(f tracepoint.FormatField) bool { return f.Name == "duplicate" })
	if d.layout != nil {
		d.setters = d.layout.setters(fields, t)
		d.whole = !slices.ContainsFunc(d.setters, setter.isEmpty)
	}
	return d, nil
}

// Plain returns a decoder for the same tracepoint that does not interpret fields: every event has Kind [Other] and all
// fields of its record under their own names and in their order, and texts are as in the record, escapes and JSON
// included. EventName, Severity and Header of EventHeader events are set.
func (d *Decoder) Plain() *Decoder {
	p := *d
	p.plain, p.layout, p.setters, p.whole, p.keepsJSON = true, nil, nil, false, false
	return &p
}

// keepJSON makes the decoder set [Event.FieldsJSON], as Options.FieldsJSON says.
func (d *Decoder) keepJSON() {
	d.keepsJSON = d.whole && d.layout != otelDeclared // which has an attribute for lack of a field
}

// Decode decodes a record into ev. raw is the whole record of the tracepoint, common fields included; Decode ignores
// bytes behind it. Decode sets all fields of ev except those of the kernel, such as Time and PID. It does not allocate
// for most records once ev has been used.
//
// ev refers to raw: see [Event]. An error wraps [ErrMalformed]; ev then has the names of the tracepoint only.
func (d *Decoder) Decode(raw []byte, ev *Event) error {
	ev.begin(d)
	return d.decode(raw, ev)
}

// decode is Decode into an event that is empty but for the kernel's fields.
func (d *Decoder) decode(raw []byte, ev *Event) error {
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
