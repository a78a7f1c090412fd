package sloghandler

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// Declaration declares the log records of one message: the fields of the struct type T are fields of the records'
// event. It comes from [Declare], does not change, and may be used for several handlers.
type Declaration[T any] struct {
	d      declaration
	fields *typedfield.Fields[T] // nil if T cannot be declared
}

// AnyDeclaration is a [Declaration] of any type.
type AnyDeclaration interface{ declaration() *declaration }

// DeclarationOptions are the options of [Declare]. The zero value and nil mean defaults.
type DeclarationOptions struct {
	// Name is the event's name without the handler's. Empty means the message, as
	// [typed.FieldName] makes a name of it. Names of other adapters' events are an error: span, span_start,
	// span_event, span_link, slice, those of metrics, such as metric_sum, all that begin with log_, and those of tracepoints for EventHeader, such as L4K1.
	Name string

	// Levels are levels at which the program logs the message, one of each range is enough.
	// At other levels it is a record like any other. Empty means all.
	//
	// While the event is enabled, the handler is enabled for these levels, since slog asks
	// without telling the message: an event that declares its levels costs the others nothing.
	Levels []slog.Level
}

// Declare declares the log records with exactly this message. They have an event of their own, in which the fields of
// the struct type T are fields of their own type, so that the kernel filters and aggregates by them:
//
//	type HTTPRequest struct {
//		Method  string        `uevent:"method"`
//		Route   string        `uevent:"route"`
//		Status  uint16        `uevent:"status"`
//		Latency time.Duration `uevent:"latency_ns"`
//	}
//
//	var httpRequest = sloghandler.Declare[HTTPRequest]("http request", nil)
//
//	handler, err := sloghandler.New("myapp", &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{httpRequest}})
//
// registers, beside the events of the levels,
//
//	myapp_http_request ... __data_loc char[] method; __data_loc char[] route; u16 status; s64 latency_ns; ...
//
// Tags and types are those of package structevent, see [typed.Plan]; a field of type [typed.Truncated] is not possible. [New] returns
// an error in T.
//
// Nothing changes for log calls: the handler finds the attribute for each field by its key, which is the name in the
// field's tag, or else the field's Go name. The attribute may be in any group, one of WithGroup included. For a field in a
// nested struct, the key begins with the names of the structs and dots, as in "request.id", and groups of these
// names must be the innermost. A time.Duration whose name ends in _ns also takes the attribute without that
// ending, as does a time.Time with _unix_nano. If several attributes match, the one in the fewest other groups wins,
// and then the last one.
//
// Values are converted if nothing is lost or guessed: numbers in range, numbers from and to their text, durations and times from
// and to theirs, errors and values with a text to it. A number is no duration and no time, since nothing tells its unit. An
// attribute that no field declares, or that cannot be converted, stays in the field attributes; [uevents.EventStats] counts the latter.
//
// The kernel takes declarations of 511 bytes: [New] returns an error if name and fields of an event are longer.
//
// With the encoding [EventHeader], which has events inside of tracepoints, the records stay in their level's
// tracepoint and have the name http_request there.
func Declare[T any](message string, o *DeclarationOptions) *Declaration[T] {
	if o == nil {
		o = &DeclarationOptions{}
	}
	d := &Declaration[T]{d: declaration{
		message: message,
		name:    declared.EventName(o.Name, message),
		levels:  slices.Clone(o.Levels),
	}}
	if d.fields, d.d.err = typedfield.FieldsOf[T](); d.d.err == nil {
		d.d.fields = d.fields.List()
		d.d.err = eventset.CheckSuffix(d.d.name)
	}
	return d
}

func (d *Declaration[T]) declaration() *declaration {
	switch {
	case d == nil:
		return &declaration{err: fmt.Errorf("%w: the declaration is nil: make it with Declare", tracepoint.ErrInvalid)}
	case d.fields == nil && d.d.err == nil:
		return &declaration{err: fmt.Errorf("%w: the declaration is empty: make it with Declare", tracepoint.ErrInvalid)}
	}
	return &d.d
}

// declaration is what a [Declaration] says, whatever its type.
type declaration struct {
	message string
	name    string
	levels  []slog.Level
	fields  []typedfield.StructField
	err     error
}

// payloadFields returns the fields for the event's schema.
func (d *declaration) payloadFields() []payload.Field {
	fields := make([]payload.Field, len(d.fields))
	for i, f := range d.fields {
		fields[i] = payload.Field{Name: f.Name, Type: f.Type, Class: payload.Text, Size: f.Size}
		switch {
		case f.Type.Location == tracepoint.Fixed, f.Kind == typedfield.GoID, f.Kind == typedfield.GoFloat:
			fields[i].Class = payload.Number
		case f.Type.Kind != tracepoint.Char:
			fields[i].Class = payload.Array
		}
	}
	return fields
}

// Endings of names that say a unit.
const (
	nanoseconds  = "_ns"
	unixNanoTime = "_unix_nano"
)

// matchedFields returns the fields that attributes can have. schema is the event's.
func (d *declaration) matchedFields(schema *payload.Schema) ([]field, error) {
	fields := make([]field, 0, len(d.fields))
	seen := map[string]string{} // names of the fields by key
	for i, sf := range d.fields {
		typ, ok := declaredType(sf)
		if !ok {
			continue // an array, or an id in hex digits: only a struct has it
		}
		f := newField(typ)
		f.key, f.name, f.scale, f.at = sf.Key, sf.Name, float64(sf.Scale), schema.At[len(headFields)+i]
		f.alias = sf.Key
		if sf.Kind == typedfield.GoInt && sf.Bits < 32 { // the event has a larger field
			f.min, f.max = -1<<(sf.Bits-1), 1<<(sf.Bits-1)-1
		}
		switch sf.Kind {
		case typedfield.GoDuration:
			f.alias = withoutEnding(sf.Key, nanoseconds)
		case typedfield.GoTime:
			f.alias = withoutEnding(sf.Key, unixNanoTime)
		default:
		}
		for _, key := range f.keys() {
			if other, taken := seen[key]; taken {
				return nil, fmt.Errorf("%w: the attribute %q is for two fields, %s and %s: rename one of them", tracepoint.ErrInvalid, key, other, f.name)
			}
			seen[key] = f.name
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// withoutEnding returns a key without its ending, or the key if it does not have that ending or nothing else.
func withoutEnding(key, ending string) string {
	if rest := strings.TrimSuffix(key, ending); rest != "" {
		return rest
	}
	return key
}

// declaredType returns the type of a field's values.
func declaredType(f typedfield.StructField) (t declared.Type, ok bool) {
	switch f.Kind {
	case typedfield.GoBool:
		return declared.Bool, true
	case typedfield.GoInt:
		if f.Bits <= 32 {
			return declared.Int32, true
		}
		return declared.Int64, true
	case typedfield.GoUint:
		switch f.Bits {
		case 8:
			return declared.Uint8, true
		case 16:
			return declared.Uint16, true
		case 32:
			return declared.Uint32, true
		}
		return declared.Uint64, true
	case typedfield.GoFloat:
		if f.Scale != 0 {
			return declared.Int64, true
		}
		return declared.Float64, true
	case typedfield.GoString:
		return declared.String, true
	case typedfield.GoDuration:
		return declared.Duration, true
	case typedfield.GoTime:
		return declared.Time, true
	case typedfield.GoOther:
		return declared.String, f.Type.Kind == tracepoint.Char // an address: its text
	default:
		return 0, false
	}
}
