package component

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// maxScopes bounds a table of scopes, for programs that give each request a scope of its own.
const maxScopes = 1 << 8

// Scopes keeps what a provider makes for each instrumentation scope, so that asking for it again takes a look-up in a
// map and does not allocate. The zero value is empty. Methods may be called concurrently.
type Scopes[T any] struct {
	table atomic.Pointer[map[instrumentation.Scope]*T] // never changed, but replaced
	mu    sync.Mutex                                   // held by those who replace it
}

// Get returns what is kept for a scope, or nil.
func (s *Scopes[T]) Get(scope instrumentation.Scope) *T {
	if table := s.table.Load(); table != nil {
		return (*table)[scope]
	}
	return nil
}

// Add keeps what was made for a scope, unless there is something already or the table is full. It returns what is to
// be used.
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
