package sloghandler

import (
	"context"
	"log/slog"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/uevents"
)

// Encoding is how records are written.
type Encoding uint8

const (
	// Typed gives each event fields of its own, which every tool prints and the kernel
	// filters by.
	Typed Encoding = iota

	// EventHeader writes the self-describing format of LinuxTracepoints, which perf-decode,
	// one_collect and Azure's agents read. Attributes keep their types, but ftrace, perf
	// script and filters do not look into it.
	EventHeader
)

// Options are the options of [New]. The zero value and nil mean defaults. The first three
// are those of [slog.HandlerOptions]. New copies what it needs; functions must be safe for
// concurrent use.
type Options struct {
	// AddSource fills in the field source with the function, file and line of the log call.
	AddSource bool

	// Level is the least level to handle; nil means all. Whether anybody traces a level is
	// asked first, so a Leveler costs nothing while nobody does. One that is neither a
	// [slog.Level] nor a [*slog.LevelVar] is asked by Handle and not by Enabled.
	Level slog.Leveler

	// ReplaceAttr rewrites attributes as [slog.HandlerOptions] describes it, those given to
	// WithAttrs once. It also sees time, level, msg and source, with no groups. These have
	// fixed fields: a new key means nothing, a new value is taken if the field can hold it,
	// and else becomes an attribute. If one is removed, its field is zero or empty; level
	// stays, since it says which event the record belongs to.
	//
	// What a function that panics was to return is replaced by a text that says so.
	ReplaceAttr func(groups []string, a slog.Attr) slog.Attr

	// TraceContext returns the ids of the trace and the span that a context belongs to, or
	// zeros. Package oteltrace has it for OpenTelemetry.
	TraceContext func(ctx context.Context) (traceID [16]byte, spanID [8]byte)

	// AttrFromContext are asked for more attributes of a record, which come before all
	// others and in no group.
	AttrFromContext []func(ctx context.Context) []slog.Attr

	// Duplicates says what becomes of attributes with the same key in the same group. By
	// default all are kept.
	Duplicates attrjson.Duplicates

	// Encoding is how records are written, by default [Typed].
	Encoding Encoding

	// MaxPayload limits the size of a record in bytes; what is above is cut. 0 means
	// [uevents.MaxPayload], what every tracer keeps, or the provider's limit if that is
	// less. A provider that the handler opens gets this limit; one that it borrows may have
	// a lower one, which counts.
	MaxPayload int

	// Declared are log records with fields of their own; see [Declare].
	Declared []Declared

	// Naming is the policy for the names of declared records' events, by default
	// [uevents.NameHashedOnConflict]: a program that was upgraded to other fields, while a tool is attached to the event
	// of the old version, registers a name with a hash, which Stats shows. The events of the levels
	// never change their fields.
	Naming uevents.Naming

	// Provider registers the events. The handler borrows it: Close leaves it open. nil
	// means that the handler opens one with [uevents.Open] and closes it.
	Provider *uevents.Provider
}
