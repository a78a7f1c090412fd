package sloghandler

import (
	"context"
	"log/slog"

	"github.com/userevents/userevents-go/uevents"
)

// Options are the options of [New]. The zero value and nil mean defaults. The first three
// are those of [slog.HandlerOptions]. New copies the options; functions must be safe for
// concurrent use.
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
	// [uevents.MaxPayload], which every tracing tool keeps. A limit above that loses large records in ftrace and
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
