package sloghandler

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/userevents/userevents-go/internal/adapter/declared"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/bufpool"
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

// DeclarationOptions are the options of [Declare].
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
	d := new(Declaration[T])
	if d.d, d.fields = declared.New[T](message, o.Name, o.Levels); d.d.Err == nil {
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
type declaration = declared.Declaration[slog.Level]

// TypedLogger logs the records of a [Declaration] without the front end of slog, for hot paths. Its records reach the handler
// only, not other handlers of the program. Methods may be called concurrently, also after the handler was closed. The zero
// TypedLogger, and nil, are never enabled.
type TypedLogger[T any] struct {
	h *Handler
	d *Declaration[T]
	o *declaredOutput // of the message; nil if the handler has no declaration of it: then there is the level's event

	// direct says that o is that of d, and that nothing has to see the values before they are written.
	direct bool
}

// Logger returns a logger for records with what h adds to them. If h was made without the declaration,
// or its event could not be registered, the records are written to their level's event. If d or h is nil or zero, the
// logger is never enabled.
func (d *Declaration[T]) Logger(h *Handler) *TypedLogger[T] {
	if d == nil || h == nil || h.sink == nil {
		return &TypedLogger[T]{}
	}
	o := h.declared[d.d.Selector]
	return &TypedLogger[T]{h: h, d: d, o: o, direct: h.replace == nil && o != nil && o.declaration == &d.d}
}

// Enabled reports whether a tracing tool is attached to the declaration's event or that of the level. It is the guard for calls
// whose arguments take work:
//
//	if requests.Enabled(ctx, slog.LevelInfo) {
//		requests.Log(ctx, slog.LevelInfo, &HTTPRequest{...})
//	}
func (l *TypedLogger[T]) Enabled(_ context.Context, level slog.Level) bool {
	own, byLevel := l.enabled(level)
	return own || byLevel
}

// enabled reports which of the events are enabled.
func (l *TypedLogger[T]) enabled(level slog.Level) (own, byLevel bool) {
	if l == nil || l.h == nil || !l.h.all.Enabled() {
		return false, false
	}
	h, at := l.h, rangeOf(level)%ranges
	byLevel = h.levels[at].event.Enabled()
	own = l.o != nil && l.o.in[at] && l.o.event.Enabled()
	if !own && !byLevel || level < h.least.Level() || h.leveler != nil && level < leastOf(h.leveler) {
		return false, false
	}
	return own, byLevel
}

// Log logs the fields of v, which it does not keep. If v is nil or the events are disabled, it does nothing.
//
// The event of the level has the fields as attributes. It allocates for those that are times, addresses, arrays, ids or float32, and if there are
// more than 16; the event of the declaration does not.
func (l *TypedLogger[T]) Log(ctx context.Context, level slog.Level, v *T) {
	if v == nil {
		return
	}
	if own, byLevel := l.enabled(level); own || byLevel {
		l.log(ctx, level, v, own, byLevel)
	}
}

// log logs the fields of v to the events that are enabled.
func (l *TypedLogger[T]) log(ctx context.Context, level slog.Level, v *T, own, byLevel bool) {
	h := l.h
	r := slog.Record{Time: time.Now(), Level: level, Message: l.d.d.Selector}
	if h.sources != nil {
		r.PC = callerPC(2)
	}
	if !own || !l.direct {
		l.handle(ctx, &r, v)
		return
	}
	var rec record
	rec.h, rec.from, rec.preformatted, rec.dropped = h, &r, h.preformatted(), h.dropped
	if h.asks {
		rec.ask(ctx)
	}
	written := l.write(&rec, v)
	if byLevel {
		rec.duplicate = written
		l.copy(rec, h.levels[rangeOf(level)%ranges], v)
	}
}

// fewFields is how many fields a struct mostly has at most.
const fewFields = 16

func (l *TypedLogger[T]) handle(ctx context.Context, r *slog.Record, v *T) {
	var room [fewFields]slog.Attr
	_ = l.h.handle(ctx, r, l.attrs(room[:0], v), &l.d.d)
}

// copy writes the fields of v as attributes to the event of the level. The record is a copy, so that their memory is on the stack.
func (l *TypedLogger[T]) copy(rec record, level *output, v *T) {
	var room [fewFields]slog.Attr
	rec.more = l.attrs(room[:0], v)
	_, _ = rec.write(level)
}

// write writes the fields of v to the declaration's event, and returns whether the kernel took the record.
func (l *TypedLogger[T]) write(rec *record, v *T) (written bool) {
	o := l.o
	o.event.Matched.Set()
	buf := bufpool.Get()
	var b payload.Builder
	b.Begin(o.schema, *buf, rec.h.limit)
	rec.putHead(&b, &o.output)
	// A text that is cut here makes the record larger than the limit: it is truncated, and the text counts there.
	b.Buf, _ = l.d.fields.Append(b.Buf, payload.Base, payload.Base+o.begin, v, rec.h.limit)
	written, _ = rec.end(&b, &o.output, buf) // errors are counted
	return written
}

func (l *TypedLogger[T]) attrs(list []slog.Attr, v *T) []slog.Attr {
	for i := range l.d.d.Fields {
		f := &l.d.d.Fields[i]
		num, text, ok := l.d.fields.Plain(i, v)
		a := slog.Attr{Key: f.Key}
		switch {
		case !ok:
			a.Value = slog.AnyValue(l.d.fields.Value(i, v))
		case f.Kind == typedfield.GoString:
			a.Value = slog.StringValue(text)
		case f.Kind == typedfield.GoInt:
			a.Value = slog.Int64Value(int64(num))
		case f.Kind == typedfield.GoUint:
			a.Value = slog.Uint64Value(num)
		case f.Kind == typedfield.GoBool:
			a.Value = slog.BoolValue(num != 0)
		case f.Kind == typedfield.GoDuration:
			a.Value = slog.DurationValue(time.Duration(num))
		default:
			a.Value = slog.Float64Value(math.Float64frombits(num))
		}
		list = append(list, a)
	}
	return list
}

// LogAttrs logs attributes, as [Handler.LogAttrs] does with the declaration's message.
func (l *TypedLogger[T]) LogAttrs(ctx context.Context, level slog.Level, attrs ...slog.Attr) {
	if l.Enabled(ctx, level) {
		l.h.logAttrs(ctx, level, l.d.d.Selector, attrs)
	}
}
