package sloghandler

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/uevents"
)

// Options are the options of [New]. The first three are those of [slog.HandlerOptions]. New copies the options;
// functions must be safe for concurrent use.
type Options struct {
	// AddSource fills in the field source with the function, file and line of the log call.
	AddSource bool

	// Level is the least level to handle; nil means all. A Leveler is asked only while an event of the level is enabled. One
	// that is neither a [slog.Level] nor a [*slog.LevelVar] is asked by Handle and by a [TypedLogger], not by Enabled. A nil
	// *slog.LevelVar is an error of [New], and means all.
	Level slog.Leveler

	// ReplaceAttr rewrites attributes as [slog.HandlerOptions] describes it, those given to
	// WithAttrs once. It also sees time, level, msg and source, with no groups. These have
	// fixed fields: a new key means nothing, a new value is taken if the field can hold it,
	// and else becomes an attribute. If one is removed, its field is zero or empty; level
	// stays, since it says which event the record belongs to.
	//
	// If ReplaceAttr panics, the value becomes a string that describes the panic.
	ReplaceAttr func(groups []string, a slog.Attr) slog.Attr

	// TraceContext returns the ids of the trace and the span that a context belongs to, or
	// zeros. For OpenTelemetry, this is oteltrace.Context of package sloghandler/oteltrace. If it
	// panics, the record has no ids.
	TraceContext func(ctx context.Context) (traceID [16]byte, spanID [8]byte)

	// AttrFromContext are functions that return more attributes for a record. These come before all others and
	// are in no group. With one, a request's id is in each record whose log call has the context of the request (DebugContext).
	AttrFromContext []func(ctx context.Context) []slog.Attr

	// UniqueKeys removes all but the last of several attributes with the same key in the same group, and does not count them as
	// truncated. Groups of the same name are not merged: the last one stays. By default all are written, as slog.JSONHandler does,
	// and consumers differ in which they take. It has nothing to do with the field duplicate.
	UniqueKeys bool

	// MaxPayload limits the size of a record in bytes; a larger record is truncated. 0 means
	// [tracepoint.MaxPayload], which every tracing tool keeps. A limit above that loses large records in ftrace and
	// trace-cmd, and one above 65,527 means 65,527. If Provider has a smaller limit, that one
	// applies. A limit that is negative is an error of [New], and means the default. One that is too small for the fixed fields of an
	// event is an error, too, and the event is never enabled.
	MaxPayload int

	// Declarations are log records with fields of their own; see [Declare].
	Declarations []AnyDeclaration

	// Naming is the policy for the names of declared records' events. The default is [uevents.NameHashedOnConflict]: if a
	// program is upgraded to other fields while a tool is attached to the event of the old version, it registers a name
	// with a hash, which [Handler.Stats] shows. The fields of the levels' events never change.
	Naming uevents.Naming

	// Provider registers the events. The caller owns it: Close leaves it open. With nil, New opens one with
	// [uevents.Open], which Close closes.
	Provider *uevents.Provider
}

// Handler is a [slog.Handler] that writes records as user events. Handlers come from [New]
// and from methods of other handlers. Methods may be called concurrently, also during and after Close.
type Handler struct {
	*sink

	// What a handler adds to the one that it was derived from: a group or attributes. A
	// list of these costs less to extend than a copy of everything so far, and siblings
	// have nothing in common that one of them could change.
	parent atomic.Pointer[Handler] // nil as soon as ready is set
	group  string
	open   *openGroup  // the innermost one; nil if there is none
	attrs  []slog.Attr // resolved, replaced and frozen

	dropped int // values that were dropped when the attributes were frozen

	ready atomic.Pointer[preformatted]
}

// sink is what a handler and all that were derived from it have in common. It does not change after New.
type sink struct {
	set *eventset.Set

	// Enabled asks first whether any event is enabled, and then whether one of the range of levels is.
	all     *uevents.Group
	groups  [ranges]*uevents.Group // an event is in those of all levels that its records may have
	least   *slog.LevelVar
	leveler slog.Leveler // asked by Handle; nil if least says it

	levels   [ranges]*output
	declared map[string]*declaredOutput // by message; nil if there are none
	few      [4]*declaredOutput         // the same, if there are not more
	index    index                      // of all declarations

	replace      func([]string, slog.Attr) slog.Attr
	traceContext func(context.Context) ([16]byte, [8]byte)
	fromContext  []func(context.Context) []slog.Attr
	duplicates   attrjson.Duplicates
	asks         bool // a context is asked for ids or attributes
	limit        int  // of payloads
	sources      *sources
}

// New registers the events of a handler. Their names begin with name, usually the program's: 1 to 64 ASCII letters, digits and
// underscores, the first of which is no digit. A name that ends in _log, such as myapp_log, has the events of package ueventslog
// with the name myapp: whichever of the two comes second gets [uevents.ErrConflict].
//
// The handler returned is never nil. With an error it works: after a negative MaxPayload or a nil *slog.LevelVar
// with the default in its place, and else without the events that could not be registered. The error
// names invalid arguments, on every machine, and wraps [fs.ErrInvalid], and for the name and for declarations
// [tracepoint.ErrInvalid], too; if the arguments are valid, it is that
// of [uevents.Open] or [uevents.Provider.Register] and says what is missing and what to do. The records of a [Declaration] whose event
// could not be registered are written to their level's event only.
func New(name string, o *Options) (*Handler, error) {
	if o == nil {
		o = &Options{}
	}
	s := &sink{
		set:          eventset.Open("sloghandler", name, eventset.Options{Provider: o.Provider, MaxPayload: o.MaxPayload}),
		replace:      o.ReplaceAttr,
		traceContext: o.TraceContext,
		fromContext:  slices.Clone(o.AttrFromContext),
	}
	if o.UniqueKeys {
		s.duplicates = attrjson.KeepLast
	}
	s.all, s.limit = s.set.All, s.set.Limit
	s.asks = s.traceContext != nil || len(s.fromContext) > 0
	var ok bool
	if s.least, s.leveler, ok = minimum(o.Level); !ok {
		s.set.Invalid(errors.New("the option Level is a nil *slog.LevelVar: leave it out for all levels"))
	}
	if o.AddSource {
		s.sources = new(sources)
	}
	s.registerLevels()
	s.registerDeclarations(o.Declarations, o.Naming)
	return &Handler{sink: s}, s.set.Err()
}

// Enabled reports whether a tracing tool is attached to the events of the level: to the level's own one, or to that of
// a [Declaration] with this level. It also asks for the least level of the options, unless that is a Leveler of the program's.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	// Nothing here is a call, so the function needs no stack, which would be most of its cost.
	if !h.all.Enabled() {
		return false
	}
	return h.groups[rangeOf(level)%ranges].Enabled() && level >= h.least.Level()
}

// Handle writes a record to its level's event and to the event of its [Declaration], as far as they are enabled, with one system
// call each. Its error is the kernel's. Disabled events and a closed handler are no error.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	return h.handle(ctx, &r, nil, nil)
}

// WithAttrs returns a handler whose records have the attributes too.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	attrs, dropped := h.freeze(attrs)
	return h.derive(&Handler{attrs: attrs, open: h.open, dropped: h.dropped + dropped})
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.derive(&Handler{group: name, open: &openGroup{name, h.open}, dropped: h.dropped})
}

func (h *Handler) derive(child *Handler) *Handler {
	child.sink = h.sink
	child.parent.Store(h)
	return child
}

// Close unregisters the events, for all handlers derived from the same New. Afterwards they
// are never enabled. It may be called at any time and more than once.
func (h *Handler) Close() error { return h.set.Close() }

// Stats returns the counts of each event, by its name, for all handlers derived from the same New.
func (h *Handler) Stats() map[string]uevents.EventStats { return h.set.Stats() }

// LogAttrs is [slog.Logger.LogAttrs] without the front end of slog, which finds out where each call is in the program: for hot
// paths. The record reaches this handler only, not other handlers of the program.
func (h *Handler) LogAttrs(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if h.Enabled(ctx, level) {
		h.logAttrs(ctx, level, msg, attrs)
	}
}

func (h *Handler) logAttrs(ctx context.Context, level slog.Level, msg string, attrs []slog.Attr) {
	r := slog.Record{Time: time.Now(), Level: level, Message: msg}
	if h.sources != nil {
		r.PC = callerPC(2)
	}
	_ = h.handle(ctx, &r, attrs, nil) // errors are counted
}

// callerPC returns where a method for hot paths was called, which is so many calls above.
//
//go:noinline
func callerPC(above int) uintptr {
	var pcs [1]uintptr
	runtime.Callers(2+above, pcs[:])
	return pcs[0]
}

// ranges is how many ranges of levels have an event each.
const ranges = 4

var rangeNames = [ranges]string{"debug", "info", "warn", "error"}

func rangeOf(level slog.Level) int {
	switch {
	case level < slog.LevelInfo:
		return 0
	case level < slog.LevelWarn:
		return 1
	case level < slog.LevelError:
		return 2
	}
	return 3
}

// rangesOf returns which ranges the levels are in; no levels stand for all.
func rangesOf(levels []slog.Level) (in [ranges]bool) {
	for _, level := range levels {
		in[rangeOf(level)] = true
	}
	if len(levels) == 0 {
		in = [ranges]bool{true, true, true, true}
	}
	return in
}

// minimum returns a least level that can be read without a call, and the Leveler if there
// is no such. It is not ok if l is a nil pointer, which stands for all levels then.
func minimum(l slog.Leveler) (least *slog.LevelVar, leveler slog.Leveler, ok bool) {
	least = new(slog.LevelVar)
	least.Set(math.MinInt)
	switch l := l.(type) {
	case nil:
	case slog.Level:
		least.Set(l)
	case *slog.LevelVar:
		if l == nil { // a typed nil: Enabled must not panic as soon as a tool attaches
			return least, nil, false
		}
		least = l
	default:
		leveler = l
	}
	return least, leveler, true
}

// clamp returns the level as the field holds it. Levels are numbers of any size.
func clamp(level slog.Level) int32 {
	return int32(min(max(int64(level), math.MinInt32), math.MaxInt32))
}

// preformatted has the encoded groups and attributes that a handler adds to its records. The first enabled record makes it:
// most loggers that a program derives for a request are never enabled. It is immutable.
type preformatted struct {
	prefix attrjson.Prefix // all of it as JSON
	groups []string        // that are open, the outermost first

	// The attributes that are not encoded in before, from the first that a declared record may have as a field.
	steps  *step // the last one; nil if there is no such attribute
	before *preformatted
}

// step is a group or the attributes that one call of WithGroup or WithAttrs adds.
type step struct {
	before *step
	group  string // or "" with attributes
	attrs  []slog.Attr
}

func (h *Handler) preformatted() *preformatted {
	if b := h.ready.Load(); b != nil {
		return b
	}
	return h.preformat()
}

// preformat makes the preformatted of h and of each handler that h was derived from. They share memory, and drop their
// references to their parents.
func (h *Handler) preformat() *preformatted {
	var few [8]*Handler
	chain := few[:0] // h and the handlers that it was derived from that are not preformatted yet
	var before *preformatted
	for at := h; at != nil; {
		parent := at.parent.Load()
		if ready := at.ready.Load(); ready != nil {
			before = ready
			break
		}
		chain = append(chain, at)
		at = parent
	}
	if before == nil {
		before = &preformatted{prefix: attrjson.Prefix{Duplicates: h.duplicates}}
	}
	space := *before
	for _, at := range slices.Backward(chain) {
		ready := new(preformatted)
		*ready = space
		at.extend(ready, before)
		space = *ready
		ready.prefix.Clip()
		ready.groups = slices.Clip(ready.groups)
		at.ready.Store(ready)
		at.parent.Store(nil)
		before = ready
	}
	return before
}

// extend adds to b the group or attributes of h. before has those of its parent.
func (h *Handler) extend(b, before *preformatted) {
	// With UniqueKeys, it may be a duplicate of what such a record has as a field.
	if b.steps == nil && h.declared != nil && (h.duplicates == attrjson.KeepLast || h.index.has(h.attrs, b.groups)) {
		b.before = before
	}
	if b.before != nil {
		b.steps = &step{b.steps, h.group, h.attrs}
	}
	if h.group != "" {
		b.prefix = b.prefix.WithGroup(h.group)
		b.groups = append(b.groups, h.group)
	} else {
		b.prefix = b.prefix.WithAttrs(h.attrs, h.limit)
	}
}

type openGroup struct {
	name   string
	around *openGroup
}

// names returns the names of a group and those around it, the outermost first.
func (g *openGroup) names() (names []string) {
	for ; g != nil; g = g.around {
		names = append(names, g.name)
	}
	slices.Reverse(names)
	return names
}

// freeze returns a copy of attributes as they are now: resolved, replaced, and without references to what the program may change.
func (h *Handler) freeze(attrs []slog.Attr) (frozen []slog.Attr, dropped int) {
	s := resolver{replace: h.replace, freeze: true}
	if h.replace != nil {
		s.groups = h.open.names()
	}
	return s.list(attrs), s.dropped // slog.MultiHandler hands the same slice to other handlers
}

// changes reports whether the program may change what is written of a value. That of a type such as slog.Level stays.
func changes(v any) bool {
	if v == nil {
		return false
	}
	kind := reflect.TypeOf(v).Kind()
	return kind > reflect.Complex128 && kind != reflect.String
}

// frozenValue returns a value that is written as v is now, and how many values in it were dropped since they are too
// deep. It is of a plain kind if one is written the same, and else JSON.
func frozenValue(v any) (frozen slog.Value, dropped int) {
	if err, ok := v.(error); ok {
		if _, ok := v.(json.Marshaler); !ok {
			return slog.StringValue(attrjson.ErrorText(err)), 0
		}
	}
	buf := bufpool.Get()
	w := attrjson.Begin(*buf, attrjson.NoLimit)
	w.Key("")
	w.Any(v)
	object, dropped := w.End(attrjson.KeepAll)
	frozen = plainValue(object[len(`{"":`) : len(object)-len(`}`)])
	*buf = object
	bufpool.Put(buf)
	return frozen, dropped
}

// plainValue returns JSON as a value of a plain kind, if that is written the same.
func plainValue(raw []byte) slog.Value {
	switch raw[0] {
	case '{', '[':
	case 'n':
		return slog.AnyValue(nil)
	case 't', 'f':
		return slog.BoolValue(raw[0] == 't')
	case '"':
		var quoted string
		if json.Unmarshal(raw, &quoted) == nil {
			return slog.StringValue(text.UnescapeJSON(quoted))
		}
	default:
		token := string(raw)
		if i, err := strconv.ParseInt(token, 10, 64); err == nil && token != "-0" {
			return slog.Int64Value(i)
		}
		if u, err := strconv.ParseUint(token, 10, 64); err == nil {
			return slog.Uint64Value(u)
		}
		if f, err := strconv.ParseFloat(token, 64); err == nil && (string(attrjson.AppendFloat(nil, f)) == token || string(text.AppendFloat(nil, f, 64)) == token) {
			return slog.Float64Value(f)
		}
	}
	return slog.AnyValue(json.RawMessage(slices.Clone(raw)))
}
