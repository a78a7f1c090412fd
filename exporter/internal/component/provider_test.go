package component

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// TestProviderResource: the program's attributes override those of the environment, which are added.
func TestProviderResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the environment")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "shard=9")
	res, err := ProviderResource("pkg", nil)
	require.NoError(t, err)
	assert.Same(t, resource.Default(), res)
	res, err = ProviderResource("pkg", resource.NewSchemaless(attribute.String("service.name", "set")))
	require.NoError(t, err)
	assert.Equal(t, "service.name=set,shard=9", res.String())
	res, err = ProviderResource("pkg", resource.Empty())
	require.NoError(t, err)
	assert.Equal(t, "service.name=from the environment,shard=9", res.String())
}

func TestWithoutNil(t *testing.T) {
	one := func() {}
	a, b := &one, new(func())
	list := []*func(){a, nil, b, nil}
	assert.Equal(t, []*func(){a, b}, WithoutNil(list))
	assert.Equal(t, []*func(){a, nil, b, nil}, list, "the caller's")
	assert.Empty(t, WithoutNil([]*func(){nil}))
	whole := []*func(){a}
	assert.Same(t, &whole[0], &WithoutNil(whole)[0], "nothing to copy")
}
