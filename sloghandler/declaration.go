package sloghandler

import (
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/typedfield"
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
	// span_event, span_link, slice, those of metrics, such as metric_sum, all that begin with log_, and those of EventHeader tracepoints, such as L4K1.
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
func Declare[T any](message string, o *DeclarationOptions) *Declaration[T] {
	if o == nil {
		o = &DeclarationOptions{}
	}
	d := &Declaration[T]{d: declaration{levels: slices.Clone(o.Levels)}}
	if d.d.Declaration, d.fields = declared.New[T](message, o.Name); d.d.Err == nil {
		d.d.Err = eventset.CheckSuffix(d.d.Name)
	}
	return d
}

func (d *Declaration[T]) declaration() *declaration {
	if d == nil {
		return nil
	}
	return &d.d
}

// declaration is what a [Declaration] says, whatever its type.
type declaration struct {
	declared.Declaration
	levels []slog.Level
}
