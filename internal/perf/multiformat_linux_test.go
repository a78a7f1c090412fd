package perf_test

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

// multiFormat registers an event with USER_EVENT_REG_MULTI_FORMAT, as programs of other libraries may, and returns a function that
// writes a record.
func multiFormat(t *testing.T, fs *tracefs.Dir, d tracepoint.Declaration) (write func(payload ...byte)) {
	t.Helper()
	f, err := abi.Open(fs.Path(tracefs.DataFile))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	word, err := f.NewWord()
	require.NoError(t, err)
	t.Cleanup(func() { f.FreeWord(word) })
	r, err := f.Register(backend.Request{Command: d.String(), Flags: backend.FlagMultiFormat, Word: word})
	if errors.Is(err, syscall.EINVAL) {
		t.Skip("not on this kernel: a name has one format")
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Unregister(word, 0)) })
	index := make([]byte, 4)
	require.Zero(t, r.Index)
	return func(payload ...byte) { require.NoError(t, f.Write(append(index, payload...))) }
}

// onlyFormat returns the tracepoint's name of an event of one format.
func onlyFormat(t *testing.T, fs *tracefs.Dir, event string) string {
	t.Helper()
	list, err := filepath.Glob(fs.Path("events", tracepoint.MultiSystem, event+".*"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return filepath.Base(list[0])
}
