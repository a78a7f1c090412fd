package autoexport

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestJoinSame: a reason is said once, with all components that have it, and other errors stay what they are.
func TestJoinSame(t *testing.T) {
	reason := func() error { return fmt.Errorf("open: %w", fs.ErrPermission) } // each component has an error of its own
	other := errors.New("the resource has two schemas")
	err := joinSame([]error{
		fmt.Errorf("a: %w", reason()),
		errors.Join(errors.Join(fmt.Errorf("b: %w", reason())), other),
		fmt.Errorf("c: %w", fs.ErrNotExist),
		fmt.Errorf("d, two reasons: %w and %w", fs.ErrClosed, fs.ErrExist),
		fmt.Errorf("%w, says e", reason()),
	})
	assert.EqualError(t, err, "the resource has two schemas\n"+
		"d, two reasons: file already closed and file already exists\n"+
		"open: permission denied, says e\n"+
		"a, b: open: permission denied\n"+
		"c: file does not exist")
	for _, target := range []error{other, fs.ErrPermission, fs.ErrNotExist, fs.ErrClosed, fs.ErrExist} {
		assert.ErrorIs(t, err, target)
	}
	assert.NoError(t, joinSame(nil))
}
