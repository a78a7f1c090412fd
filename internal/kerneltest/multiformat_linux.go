package kerneltest

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// MultiFormat registers an event with USER_EVENT_REG_MULTI_FORMAT, as programs of other libraries may. It returns a function that
// writes a record. It skips the test on kernels where a name has one format.
func MultiFormat(tb testing.TB, fs *tracefs.Dir, d tracepoint.Declaration) (write func(payload ...byte)) {
	tb.Helper()
	f, err := abi.Open(fs.Path(tracefs.DataFile))
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, f.Close()) })
	word, err := f.NewWord()
	require.NoError(tb, err)
	tb.Cleanup(func() { f.FreeWord(word) })
	r, err := f.Register(backend.Request{Command: d.String(), Flags: backend.FlagMultiFormat, Word: word})
	if errors.Is(err, syscall.EINVAL) {
		tb.Skip("not on this kernel: a name has one format")
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, f.Unregister(word, 0)) })
	index := make([]byte, 4)
	require.Zero(tb, r.Index)
	return func(payload ...byte) { require.NoError(tb, f.Write(append(index, payload...))) }
}

// OnlyFormat returns the tracepoint's name of an event of one format.
func OnlyFormat(tb testing.TB, fs *tracefs.Dir, event string) string {
	tb.Helper()
	list, err := filepath.Glob(fs.Path("events", tracepoint.MultiSystem, event+".*"))
	require.NoError(tb, err)
	require.Len(tb, list, 1)
	return filepath.Base(list[0])
}
