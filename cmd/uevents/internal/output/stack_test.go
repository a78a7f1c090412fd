package output

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// eventHere is an event of this process, with the stack that it has here.
//
//go:noinline
func eventHere() *reader.Event {
	ev := logEvent()
	ev.PID = int32(os.Getpid())
	pcs := make([]uintptr, 32)
	for _, pc := range pcs[:runtime.Callers(1, pcs)] {
		ev.Callchain = append(ev.Callchain, uint64(pc))
	}
	return ev
}

// TestStack: the functions are below a line of text, and a member of a JSON object.
func TestStack(t *testing.T) {
	ev := eventHere()
	ev.Callchain = append(ev.Callchain, 8)
	var b bytes.Buffer
	w, err := New("text", &b, Options{Stack: symbols.New()})
	require.NoError(t, err)
	require.NoError(t, w.Write(ev))
	require.NoError(t, w.Write(logEvent()))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 6, "%q", lines)
	assert.Regexp(t, `^\S+ DEBUG`, lines[0])
	assert.Regexp(t, `^    \S+/output\.eventHere \S+/stack_test\.go:\d+$`, lines[1])
	assert.Regexp(t, `^    \S+/output\.TestStack \S+/stack_test\.go:\d+$`, lines[2])
	assert.Regexp(t, `^    testing\.tRunner \S+/testing\.go:\d+$`, lines[3])
	assert.Equal(t, "    0x7", lines[4])
	assert.Regexp(t, `^\S+ DEBUG`, lines[5], "an event without a stack")

	b.Reset()
	w, err = New("json", &b, Options{Stack: symbols.New()})
	require.NoError(t, err)
	require.NoError(t, w.Write(ev))
	var object struct {
		Stack []map[string]any
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &object))
	require.Len(t, object.Stack, 4)
	assert.Contains(t, object.Stack[1]["function"], "output.TestStack")
	assert.Contains(t, object.Stack[1]["file"], "stack_test.go")
	assert.NotZero(t, object.Stack[1]["line"])
	assert.Equal(t, map[string]any{"address": "0x7"}, object.Stack[3])

	for _, format := range []string{"raw", "{{.time}}"} {
		_, err := New(format, &b, Options{Stack: symbols.New()})
		assert.ErrorIs(t, err, errFormat)
	}
}
