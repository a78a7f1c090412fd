package component

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
)

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
