package typed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
)

func mustFields[T any](t testing.TB) *typed.Fields[T] {
	t.Helper()
	f, err := typed.FieldsOf[T]()
	require.NoError(t, err)
	return f
}
