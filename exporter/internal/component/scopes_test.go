package component

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

func TestScopes(t *testing.T) {
	var s Scopes[int]
	a, b := new(int), new(int)
	named := instrumentation.Scope{Name: "a"}
	assert.Nil(t, s.Get(named))
	assert.Same(t, a, s.Add(named, a))
	assert.Same(t, a, s.Add(named, b), "the first one is kept")
	assert.Same(t, a, s.Get(named))
	for _, other := range []instrumentation.Scope{
		{Name: "b"},
		{Name: "a", Version: "1"},
		{Name: "a", SchemaURL: "u"},
		{Name: "a", Attributes: attribute.NewSet(attribute.Int("n", 1))},
	} {
		assert.Nil(t, s.Get(other))
		own := new(int)
		assert.Same(t, own, s.Add(other, own))
		assert.Same(t, own, s.Get(other))
	}
	assert.Same(t, a, s.Get(named))
	assert.Zero(t, testing.AllocsPerRun(10, func() { s.Get(named) }))
}

// TestScopesBound: a full table keeps its scopes, and new ones work without an entry.
func TestScopesBound(t *testing.T) {
	var s Scopes[int]
	var wg sync.WaitGroup
	for i := range 4 * maxScopes {
		wg.Go(func() {
			own := new(int)
			assert.NotNil(t, s.Add(instrumentation.Scope{Name: fmt.Sprint(i)}, own))
		})
	}
	wg.Wait()
	kept := 0
	for i := range 4 * maxScopes {
		if s.Get(instrumentation.Scope{Name: fmt.Sprint(i)}) != nil {
			kept++
		}
	}
	assert.Equal(t, maxScopes, kept)
}
