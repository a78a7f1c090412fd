package component

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/uevents"
)

// Event is a typed event. Its schema is one of several that share a table of fields: see [payload.Subset].
type Event struct {
	*eventset.Event

	// Origin writes where its records come from.
	Origin attrs.Origin

	schema *payload.Schema
	limit  int
}

// RegisterTyped registers an event whose name ends in suffix. It is never nil; errors are those of [Component.Publish].
func (c *Component) RegisterTyped(suffix string, s *payload.Schema) *Event {
	e, _ := c.Register(c.Name(suffix), s, uevents.NameExact) // the set keeps the error
	return &Event{Event: e, Origin: attrs.NewOrigin(s), schema: s, limit: c.Limit}
}

// Record builds the payload of an event. Methods identify fields by their number in the table. The event has all of
// them, except for empty texts. Texts must be written in the order of the event's fields.
type Record struct {
	payload.Builder
	Event *Event

	at  []int
	buf *[]byte // of the pool
}

// Begin begins a record in r, which lives on the stack of the caller. Call [Record.Write] next.
func (e *Event) Begin(r *Record) {
	r.buf = bufpool.Get()
	r.Begin(e.schema, *r.buf, e.limit)
	r.Event, r.at = e, e.schema.At
}

// At returns the offset of a field.
func (r *Record) At(field int) int { return r.at[field] }

// U8 writes an 8-bit field; the other methods write other types. A field is 0 until it is written, at most once.
func (r *Record) U8(field int, v uint8) {
	if v != 0 {
		r.PutU8(r.at[field], v)
	}
}

// U32 writes a number of 32 bits.
func (r *Record) U32(field int, v uint32) {
	if v != 0 {
		r.PutU32(r.at[field], v)
	}
}

// U64 writes a number of 64 bits.
func (r *Record) U64(field int, v uint64) { r.PutU64(r.at[field], v) }

// ID writes an id; see [payload.Builder.ID].
func (r *Record) ID(field int, id []byte, valid bool) { r.Builder.ID(r.at[field], id, valid) }

// Text writes a text.
func (r *Record) Text(field int, s string) { r.Builder.Text(r.at[field], s) }

// Write writes the record to the kernel, and reports whether the kernel accepted it.
func (r *Record) Write() (written bool, err error) { return r.Event.WritePayload(&r.Builder, r.buf) }

// maxScopes limits a table of scopes, since some programs create a scope for each request.
const maxScopes = 1 << 8

// Scopes maps each instrumentation scope to a value, such as a provider's tracer. A lookup does not allocate. The zero
// value is empty. Methods may be called concurrently.
type Scopes[T any] struct {
	table atomic.Pointer[map[instrumentation.Scope]*T] // a map never changes: a new one replaces it
	mu    sync.Mutex                                   // held to replace the map
}

// Get returns the value of a scope, or nil.
func (s *Scopes[T]) Get(scope instrumentation.Scope) *T {
	if table := s.table.Load(); table != nil {
		return (*table)[scope]
	}
	return nil
}

// Add adds the value of a scope, unless the table has one or is full. It returns the table's value, or made if the
// table is full.
func (s *Scopes[T]) Add(scope instrumentation.Scope, made *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.Get(scope); kept != nil {
		return kept
	}
	table := map[instrumentation.Scope]*T{}
	if old := s.table.Load(); old != nil {
		if len(*old) >= maxScopes {
			return made
		}
		table = maps.Clone(*old)
	}
	table[scope] = made
	s.table.Store(&table)
	return made
}
