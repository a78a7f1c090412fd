package reader

import (
	"bytes"
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
	format       tracepoint.Format

	leveled bool // some records may be copies of declared ones: they have the field duplicate

	// For EventHeader events:
	isHeader bool
	header   eventheader.Name
	payload  int // offset of the header in a record

	// For all other events:
	typed  *typed.Decoder
	layout *layout // nil if no layout is recognised
	fields []recordField
	size   int  // of the fixed parts of fields
	whole  bool // all fields have a setter, in every record
	// pointers are the indices of fields that are addresses.
	pointers []int
	// keepsJSON is set if DecodeJSON can leave attributes as they are.
	keepsJSON bool
}

// NewDecoder returns a decoder for the records of a tracepoint with this format, of user_events or of another system.
// An error wraps [tracepoint.ErrInvalid]: no kernel writes such a format.
func NewDecoder(system string, f tracepoint.Format) (*Decoder, error) {
	d := &Decoder{system: system, name: f.Name, registered: f.Name, format: f}
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
	if d.layout == nil || d.layout.applies != nil { // records are, or can be, of KindOther
		f = numberFormat(f)
	}
	t, err := typed.NewFormatDecoder(f, nil)
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", system, f.Name, err)
	}
	d.typed = t
	for i, field := range fields {
		if field.Pointer {
			d.pointers = append(d.pointers, i)
		}
	}
	d.leveled = slices.ContainsFunc(fields, func(f tracepoint.FormatField) bool { return f.Name == "duplicate" })
	if d.layout != nil {
		d.fields, d.size = d.layout.recordFields(d.format)
		d.whole = d.layout.applies == nil && !slices.ContainsFunc(d.fields, func(f recordField) bool { return f.isEmpty() })
		d.keepsJSON = d.whole && d.layout != otelDeclared // which has an attribute for lack of a field
	}
	return d, nil
}

// Format returns the format of the event, as [NewDecoder] got it. Its slices belong to the Decoder.
func (d *Decoder) Format() tracepoint.Format { return d.format }

// Decode decodes a record into ev. raw is the whole record of the tracepoint, common fields included; Decode ignores
// bytes behind it. Decode sets all fields of ev except those of the kernel, such as Time and PID. A nil o has the default of
// each option. An error wraps [ErrMalformed]; ev then has the names of the tracepoint only.
func (d *Decoder) Decode(raw []byte, ev *Event, o *DecodeOptions) error {
	if o == nil {
		o = &DecodeOptions{}
	}
	if !o.Reuse {
		return d.decodeCopy(raw, ev, o.Mode)
	}
	ev.begin(d)
	return d.decode(raw, ev, o.Mode)
}

func (d *Decoder) decodeCopy(raw []byte, ev *Event, mode DecodeMode) error {
	ev.borrow()
	ev.begin(d)
	err := d.decode(bytes.Clone(raw), ev, mode)
	ev.settle()
	return err
}

// decode decodes raw, not a copy of it, into an event that is empty but for the kernel's fields.
func (d *Decoder) decode(raw []byte, ev *Event, mode DecodeMode) error {
	if mode == DecodeNone {
		return nil
	}
	return d.decodeFields(raw, ev, mode)
}

func (d *Decoder) decodeFields(raw []byte, ev *Event, mode DecodeMode) error {
	var err error
	if d.isHeader {
		err = d.decodeHeader(raw, ev, mode)
	} else {
		err = d.decodeTyped(raw, ev, mode)
	}
	if err != nil {
		ev.begin(d)
		return fmt.Errorf("%w: tracepoint %s:%s: %w", ErrMalformed, d.system, d.name, err)
	}
	return nil
}
