package reader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/typedfield"
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

// DecodeOptions are the choices of decoding. The zero value has the default of each.
type DecodeOptions struct {
	// Mode is how much of a record becomes fields of the Event.
	Mode DecodeMode
	// Reuse makes the texts and bytes of an Event share the memory of the record, and its slices, Point and Header that of the
	// record before: they are valid until the Event is decoded into again, or the bytes of the record change. [Event.Clone]
	// returns a copy without these limits. Most records are then decoded without allocating.
	Reuse bool
}

// DecodeMode is how much of a record becomes fields of an [Event].
type DecodeMode uint8

// The modes of decoding.
const (
	// DecodeFull recognises log records, spans and metrics: see docs/wire-formats.md.
	DecodeFull DecodeMode = iota
	// DecodePlain gives fields no meaning. Every event is of [KindOther] and has all fields of its record under their own
	// names and in their order, and texts are as in the record, escapes and JSON included. EventName, Severity and Header of
	// EventHeader events are set.
	DecodePlain
	// DecodeJSON is DecodeFull, but leaves attributes that a program wrote as JSON in Event.FieldsJSON, where this is the JSON
	// that [AppendJSON] would write, and the record has no other fields. Event.Fields is then empty. It is for tools that write
	// JSON: most attributes are neither parsed nor encoded again.
	DecodeJSON
	// DecodeNone sets only System, Name and Decoder, for tools that store records as they are or decode them later. With a
	// condition, a declared record has no copy in the event of its level, which DecodeNone and DecodePlain else return, too.
	DecodeNone
)

func (d *Decoder) decodeTyped(raw []byte, ev *Event, mode DecodeMode) error {
	if d.whole && mode != DecodePlain {
		if d.set(raw, nil, ev, mode == DecodeJSON && d.keepsJSON) {
			return nil
		}
		_, err := d.typed.Decode(raw)
		return cmp.Or(err, errChanged)
	}
	r, err := d.typed.Decode(raw)
	if err != nil {
		return err
	}
	if d.layout == nil || mode == DecodePlain || d.layout.applies != nil && !d.layout.applies(r) {
		for i := range r.Len() {
			name, v := r.Field(i)
			ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.typed(v)})
		}
		for _, i := range d.pointers { // of the kernel's events only
			v := &ev.Fields[i].Value
			*v = StringValue("0x" + strconv.FormatUint(v.Uint64(), 16))
		}
		return nil
	}
	if !d.set(raw, &r, ev, mode == DecodeJSON && d.keepsJSON) {
		return errChanged
	}
	return nil
}

var errChanged = errors.New("its bytes change")

// set sets the fields of an event by the layout. r is the decoded record, or nil if all fields have a setter. keepJSON allows it to
// set FieldsJSON. It returns false if the bytes of a field are not within the record.
func (d *Decoder) set(raw []byte, r *typed.Record, ev *Event, keepJSON bool) bool {
	if len(raw) < d.size {
		return false
	}
	ev.scratch.layout, ev.scratch.keepJSON = d.layout, keepJSON
	ev.Kind = d.layout.kind
	if ev.Kind == KindMetric {
		ev.Point = ev.scratch.newPoint(d.layout.point)
	}
	done, within := setFields(d.fields, raw, ev)
	for done < len(d.fields) { // the value of this one is not valid for it
		if !within || !d.keep(done, raw, r, ev) {
			return false
		}
		from := done + 1
		done, within = setFields(d.fields[from:], raw, ev)
		done += from
	}
	if ev.FieldsJSON != "" && len(ev.Fields) > 0 {
		ev.begin(d)
		return d.set(raw, r, ev, false)
	}
	if len(ev.scratch.declared) > 0 && len(ev.Fields) > len(ev.scratch.declared) {
		d.separate(ev)
	}
	if d.layout.finish != nil {
		d.layout.finish(d, ev)
	}
	if len(ev.Fields) > 1 {
		ev.Fields = ev.scratch.unique(ev.Fields, 0)
	}
	return true
}

// keep appends field i, which no setter took, to the fields of the event.
func (d *Decoder) keep(i int, raw []byte, r *typed.Record, ev *Event) bool {
	if r == nil {
		decoded, err := d.typed.Decode(raw)
		if err != nil {
			return false
		}
		r = &decoded
	}
	name, v := r.Field(i)
	ev.scratch.declared = append(ev.scratch.declared, len(ev.Fields))
	ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.own(v)})
	return true
}

// separate gives attributes other names that have that of a declared field: NAME_2. A program has both if the value of an attribute does not
// fit its field, or if a logger has the attribute, too. The field is the one that the kernel's filters see.
func (d *Decoder) separate(ev *Event) {
	declared := ev.scratch.declared
	for i := range ev.Fields {
		if slices.Contains(declared, i) {
			continue
		}
		name := ev.Fields[i].Name
		for _, j := range declared {
			if own := ev.Fields[j].Name; own == name || declaredAs(own, name) {
				ev.Fields[i].Name = name + "_2"
				break
			}
		}
	}
}

// own returns the value of a field of this module's adapters, which escape texts.
func (s *scratch) own(v typed.Value) Value {
	if v.Kind() == typed.KindText {
		return StringValue(plain(v.Bytes()))
	}
	return s.typed(v)
}

func (s *scratch) typed(v typed.Value) Value {
	switch v.Kind() {
	case typed.KindInt:
		return Int64Value(v.Int64())
	case typed.KindUint:
		return Uint64Value(v.Uint64())
	case typed.KindText:
		return StringValue(stringOf(v.Bytes()))
	case typed.KindBytes:
		return BytesValue(v.Bytes())
	case typed.KindArray:
		if len(v.Bytes()) == v.Len() {
			return BytesValue(v.Bytes())
		}
		base := len(s.stack)
		for i := range v.Len() {
			s.stack = append(s.stack, Field{Value: s.typed(v.At(i))})
		}
		return ListValue(s.end(base))
	default:
		return Value{}
	}
}

// find returns the value of a field, or of a member of a group: db.table is the member table of the map db. A field whose name has other
// characters has _ in their place where a program declared it: http.route finds http_route, and the other way round; latency finds latency_ns.
func find(fields []Field, name string) (Value, bool) {
	if v, ok := lookup(fields, name); ok {
		return v, true
	}
	for i := len(fields) - 1; i >= 0; i-- { //nolint:modernize // Backward copies each Field, which is large
		if isFieldOf(fields[i].Name, name) {
			return fields[i].Value, true
		}
	}
	for i := range name {
		if name[i] != '.' || i == 0 {
			continue
		}
		if v, ok := lookup(fields, name[:i]); ok && v.typ == TypeMap {
			if v, ok := find(v.list, name[i+1:]); ok {
				return v, true
			}
		}
	}
	return Value{}, false
}

// declaredAs reports whether one of two different names is the name of the field that the other is declared with.
func declaredAs(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && a[i] != '_' && b[i] != '_' {
			return false
		}
	}
	return typedfield.FieldName(a) == b || typedfield.FieldName(b) == a
}

// isFieldOf reports whether a program declares an attribute by a field of another name, which has the attribute's name with its unit: a field
// latency_ns takes the attribute latency, too.
func isFieldOf(field, name string) bool {
	if declaredAs(field, name) {
		return true
	}
	base, inUnit := strings.CutSuffix(field, "_ns")
	return inUnit && declaredAs(base, name)
}

// ValueOf returns a function that returns the value of a name of conditions, and whether the record has it: of a part of the record, of an
// attribute, or of an attribute of the resource. The Event was decoded with DecodeFull. A level is the name of a severity.
func ValueOf(name string) func(*Event) (Value, bool) {
	if name == "level" || name == "severity" {
		return func(ev *Event) (Value, bool) { return textValue(severityName(ev.Severity)), ev.Severity != 0 }
	}
	l := newLeaf(name)
	return func(ev *Event) (Value, bool) {
		v := l.of(ev)
		return v, v.typ != TypeNull
	}
}

func severityName(s Severity) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// FieldOf returns the field of the tracepoint that has, in all its records, the value of a name of conditions as a number or a text, such
// that the kernel can evaluate it; false if there is none. The name may also be that of a field itself.
func (d *Decoder) FieldOf(name string) (tracepoint.FormatField, bool) {
	p := planner{d: d}
	if d.isHeader || d.layout != nil && d.layout.applies != nil {
		return tracepoint.FormatField{}, false
	}
	kind, _ := p.kind()
	part, i := partOf[name], -1
	applies := part != nil && (part.kinds == nil || slices.Contains(part.kinds, kind))
	switch {
	case applies && !part.lifted:
		i = slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool {
			return slices.Contains(part.fields, f.Name) && p.isPart(f.Name)
		})
	case !applies:
		i = p.ownField(name)
	}
	if i < 0 && (part == nil || slices.Contains(part.fields, name)) {
		i = slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool { return f.Name == name })
	}
	if i < 0 || !isFilterName(d.format.Fields[i].Name) {
		return tracepoint.FormatField{}, false
	}
	return d.format.Fields[i], true
}

// SeverityOf returns the severity that a number in the field of a level stands for: the one that FieldOf returns for level.
func SeverityOf(f tracepoint.FormatField, n int64) Severity {
	if f.Name == "level" {
		return severityOfSlog(n)
	}
	return Severity(min(max(n, 0), int64(maxSeverity)))
}

// Source returns the kind of library that writes the tracepoint, derived from its fields: "slog", "slog, declared",
// "OpenTelemetry log", "OpenTelemetry log, declared", "OpenTelemetry span" and so on for the kinds of spans and
// metrics, "EventHeader", or "" for unknown fields. Two libraries that write the same fields have the same source.
func (d *Decoder) Source() string {
	if d.isHeader {
		return "EventHeader"
	}
	switch d.layout {
	case nil:
		return ""
	case slogLevel:
		return "slog"
	case slogDeclared:
		return "slog, declared"
	case otelDeclared:
		return "OpenTelemetry log, declared"
	}
	return "OpenTelemetry " + d.layout.kind.String()
}
