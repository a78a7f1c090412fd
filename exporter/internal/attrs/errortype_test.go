package attrs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

type failed[T any] struct{ error }

func TestTypeName(t *testing.T) {
	for want, err := range map[string]error{
		"*errors.errorString":           errors.New("x"),
		"syscall.Errno":                 syscall.ENOENT,
		"*fs.PathError":                 &fs.PathError{Op: "open", Path: "x", Err: os.ErrNotExist},
		"context.deadlineExceededError": context.DeadlineExceeded,
		"struct { error }":              struct{ error }{},
		"github.com/userevents/userevents-go/exporter/internal/attrs_test.failed[int]": failed[int]{},
	} {
		assert.Equal(t, want, attrs.TypeName(err))
	}
}
