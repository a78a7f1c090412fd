package record

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
// Record.
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
	plain    bool // fields have no meaning
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
	}
	return d, nil
}

// Format returns the format of the event, as [NewDecoder] got it. Its slices belong to the Decoder.
func (d *Decoder) Format() tracepoint.Format { return d.format }

// Plain returns a decoder that gives fields no meaning. Every record is of [KindOther] and has all fields under their own names and in their
// order, and texts are as in the record, escapes and JSON included. EventName, Severity and Header of EventHeader events are set.
func (d *Decoder) Plain() *Decoder {
	p := *d
	p.plain = true
	return &p
}

// Decode decodes a record into rec. raw is the whole record of the tracepoint, common fields included; bytes behind it are ignored. It sets
// all fields of rec but those that the kernel recorded, such as Time and PID, and Raw to a copy of raw. It never changes what rec referred to
// before. An error wraps [ErrMalformed]; rec is then Undecodable and has Raw and the names of the tracepoint only.
func (d *Decoder) Decode(raw []byte, rec *Record) error {
	rec.borrow()
	defer rec.settle()
	return d.DecodeReuse(bytes.Clone(raw), rec)
}

// DecodeReuse is Decode for a rec whose memory is used again. Raw is raw: texts and bytes of rec share its memory, and its slices, Point and
// Header that of the record before. They are valid until rec is decoded into again, or the bytes of raw change. [Record.Clone] returns a copy
// without these limits. Most records are decoded without allocating.
func (d *Decoder) DecodeReuse(raw []byte, rec *Record) error {
	rec.begin(d)
	rec.Raw = raw
	var err error
	if d.isHeader {
		err = d.decodeHeader(raw, rec)
	} else {
		err = d.decodeTyped(raw, rec)
	}
	if err != nil {
		rec.begin(d)
		rec.Raw, rec.Undecodable = raw, true
		return fmt.Errorf("%w: tracepoint %s:%s: %w", ErrMalformed, d.system, d.name, err)
	}
	return nil
}

// Reset makes rec a record that is not decoded, and refers to raw: it has Raw, System, Name and Decoder only.
func (d *Decoder) Reset(raw []byte, rec *Record) {
	*rec = Record{System: d.system, Name: d.name, leveled: d.leveled, Decoder: d, Raw: raw}
}

func (d *Decoder) decodeTyped(raw []byte, rec *Record) error {
	if d.whole && !d.plain {
		if d.set(raw, nil, rec) {
			return nil
		}
		_, err := d.typed.Decode(raw)
		return cmp.Or(err, errChanged)
	}
	r, err := d.typed.Decode(raw)
	if err != nil {
		return err
	}
	if d.layout == nil || d.plain || d.layout.applies != nil && !d.layout.applies(r) {
		for i := range r.Len() {
			name, v := r.Field(i)
			rec.fields = append(rec.fields, Field{Name: name, Value: rec.scratch.typed(v)})
		}
		for _, i := range d.pointers { // of the kernel's events only
			v := &rec.fields[i].Value
			*v = StringValue("0x" + strconv.FormatUint(v.Uint64(), 16))
		}
		return nil
	}
	if !d.set(raw, &r, rec) {
		return errChanged
	}
	return nil
}

var errChanged = errors.New("its bytes change")

// set sets the fields of a record by the layout. r is the decoded record, or nil if all fields have a setter. It returns false if the bytes
// of a field are not within the record.
func (d *Decoder) set(raw []byte, r *typed.Record, rec *Record) bool {
	if len(raw) < d.size {
		return false
	}
	rec.scratch.layout = d.layout
	rec.Kind = d.layout.kind
	if rec.Kind == KindMetric {
		rec.Point = rec.scratch.newPoint(d.layout.point)
	}
	done, within := setFields(d.fields, raw, rec)
	for done < len(d.fields) { // the value of this one is not valid for it
		if !within || !d.keep(done, raw, r, rec) {
			return false
		}
		from := done + 1
		done, within = setFields(d.fields[from:], raw, rec)
		done += from
	}
	switch {
	case d.layout.lifts && mayBeReserved(rec.attributes):
		rec.resolve(true)
	case rec.attributes == "" && len(rec.fields) > 1:
		rec.fields = rec.scratch.unique(rec.fields, 0)
	}
	if d.layout.finish != nil {
		d.layout.finish(d, rec)
	}
	return true
}

// keep appends field i, which no setter took, to the fields of the event.
func (d *Decoder) keep(i int, raw []byte, r *typed.Record, rec *Record) bool {
	if r == nil {
		decoded, err := d.typed.Decode(raw)
		if err != nil {
			return false
		}
		r = &decoded
	}
	name, v := r.Field(i)
	rec.scratch.declared = append(rec.scratch.declared, len(rec.fields))
	rec.fields = append(rec.fields, Field{Name: name, Value: rec.scratch.own(v)})
	return true
}

// separate gives attributes other names that have that of a declared field: NAME_2. A program has both if the value of an attribute does not
// fit its field, or if a logger has the attribute, too. The field is the one that the kernel's filters see.
func (rec *Record) separate() {
	declared := rec.scratch.declared
	for i := range rec.fields {
		if slices.Contains(declared, i) {
			continue
		}
		name := rec.fields[i].Name
		for _, j := range declared {
			if own := rec.fields[j].Name; own == name || declaredAs(own, name) {
				rec.fields[i].Name = name + "_2"
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
		if IsFieldOf(fields[i].Name, name) {
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

// IsFieldOf reports whether a program declares an attribute by a field of another name, which has the attribute's name with its unit: a field
// latency_ns takes the attribute latency, too.
func IsFieldOf(field, name string) bool {
	if declaredAs(field, name) {
		return true
	}
	base, inUnit := strings.CutSuffix(field, "_ns")
	return inUnit && declaredAs(base, name)
}

// SeverityOf returns the severity that a number in the field of a level stands for: the one that FieldOf returns for level.
func SeverityOf(f tracepoint.FormatField, n int64) Severity {
	if f.Name == "level" {
		return severityOfSlog(n)
	}
	return Severity(min(max(n, 0), int64(maxSeverity)))
}

// Source is the kind of library that writes an event, derived from the fields of its tracepoint: two libraries that write the same fields
// have the same source.
type Source string

// The sources.
const (
	SourceUnknown      Source = ""
	SourceEventHeader  Source = "EventHeader"
	SourceSlog         Source = "slog"
	SourceDeclared     Source = "slog, declared"
	SourceOTelLog      Source = "OpenTelemetry log"
	SourceOTelDeclared Source = "OpenTelemetry log, declared"
	// Those of spans and metrics are "OpenTelemetry " and their Kind, such as "OpenTelemetry span".
)

// Source returns the kind of library that writes the event.
func (d *Decoder) Source() Source {
	if d.isHeader {
		return SourceEventHeader
	}
	switch d.layout {
	case nil:
		return SourceUnknown
	case slogLevel:
		return SourceSlog
	case slogDeclared:
		return SourceDeclared
	case otelDeclared:
		return SourceOTelDeclared
	}
	return Source("OpenTelemetry " + d.layout.kind.String())
}

// System returns the system of the tracepoint, such as user_events.
func (d *Decoder) System() string { return d.system }

// Registered returns the name that the program gave the event. The tracepoint of an event of several formats has a number behind it.
func (d *Decoder) Registered() string { return d.registered }

// Kind returns the kind of all records of the event, and false if they can be of several kinds.
func (d *Decoder) Kind() (Kind, bool) {
	switch {
	case d.isHeader || d.layout != nil && d.layout.applies != nil:
		return KindOther, false
	case d.layout == nil:
		return KindOther, true
	default:
		return d.layout.kind, true
	}
}

// IsPart reports whether a field of the tracepoint is a part of the record, such as its time, and no attribute.
func (d *Decoder) IsPart(field string) bool {
	if d.layout == nil {
		return false
	}
	_, ok := d.layout.fields[field]
	return ok
}

// Severities returns the range of severities that records of the event have, and whether all records have one, as far as its name says. The
// adapters of this module have an event for each range of levels: records without a severity are in that of INFO. Records of EventHeader may
// have a severity of their own, which is in the range of their level.
func (d *Decoder) Severities() (first, last Severity, all bool) {
	if d.isHeader {
		switch s := severityOfHeader(d.header.Level); s {
		case SeverityTrace, SeverityDebug:
			return SeverityTrace, SeverityInfo - 1, true
		case SeverityInfo, SeverityWarn:
			return SeverityTrace, s + 3, s == SeverityWarn
		}
		return SeverityTrace, maxSeverity, true
	}
	isSlog := d.layout == slogLevel || d.layout == slogDeclared
	for _, l := range levelSuffixes {
		if (d.layout == slogLevel || d.layout == otelLog) && strings.HasSuffix(d.registered, l.suffix) {
			return l.first, l.last, isSlog || l.first != SeverityInfo
		}
	}
	return SeverityTrace, maxSeverity, isSlog
}

// levelSuffixes are the suffixes of events with a range of levels, and the severities of the range.
var levelSuffixes = []struct {
	suffix      string
	first, last Severity
}{
	{"_debug", SeverityTrace, SeverityInfo - 1},
	{"_info", SeverityInfo, SeverityWarn - 1},
	{"_warn", SeverityWarn, SeverityError - 1},
	{"_error", SeverityError, maxSeverity},
}
