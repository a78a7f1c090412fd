package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// TestKernelWithoutUserEvents: where the kernel has tracefs and no user_events, all commands say so, with their exit code.
func TestKernelWithoutUserEvents(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "events"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dynamic_events"), nil, 0o644))
	t.Chdir(dir) // flight looks whether it can write there
	for _, args := range [][]string{
		{"list"},
		{"show", "myapp"},
		{"watch", "myapp"},
		{"record", "myapp", "-o", filepath.Join(dir, "x.jsonl")},
		{"top"},
		{"hist", "myapp_request", "--by", "route"},
		{"flight", "myapp", "-o", dir},
		{"events", "save"},
		{"events", "restore"},
		{"setup", "tracers"},
		{"config", "perf"},
	} {
		f := newFeed("one")
		var out, errs bytes.Buffer
		code := run(t.Context(), f.env(t, &out, &errs), append(args, "--tracefs", dir))
		assert.Equal(t, exitNotSupported, code, "%s: %s", args, errs.String())
		assert.Contains(t, errs.String(), "not supported", "%s", args)
		assert.Empty(t, out.String(), "%s", args)
	}

	// A directory that is no tracefs is a mistake instead.
	for _, args := range [][]string{{"list"}, {"events", "save"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), new(feed).env(t, &out, &errs), append(args, "--tracefs", t.TempDir()))
		assert.Equal(t, exitError, code, "%s: %s", args, errs.String())
		assert.Contains(t, errs.String(), "no tracefs", "%s", args)
	}
}

// TestFullOutput: a command whose output is lost fails, and is no mistake in the command line.
func TestFullOutput(t *testing.T) {
	const dir = "testdata/tracefs"
	for _, args := range [][]string{
		{"--help"},
		{"watch", "--help"},
		{"help", "json"},
		{"--version"},
		{"completion", "bash"},
		{"list"},
		{"show", "myapp_info"},
		{"config", "perf"},
		{"config", "perf", "-o", "json"},
		{"events", "save"},
	} {
		var errs bytes.Buffer
		e := new(feed).env(t, fullWriter{}, &errs)
		assert.Equal(t, exitError, run(t.Context(), e, append([]string{"--tracefs", dir}, args...)), "%s: %s", args, errs.String())
		assert.Contains(t, errs.String(), "no space left on device", "%s", args)
	}
}

// fullWriter is a device without room.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestWriteJSON: names of programs cannot control a terminal, nor disguise what they say, and parsers get them as they are.
func TestWriteJSON(t *testing.T) {
	const name = "<a>\x1b[2J\x7f\u009b2J\u202eb\U000e0041\u2028ä\uef85\\\"\n"
	for _, c := range []struct {
		write func(io.Writer, any) error
		want  string
	}{
		{writeJSON, "{\n  \"event\": \"<a>\\u001b[2J\\u007f\\u009b2J\\u202eb\\udb40\\udc41\\u2028ä\uef85\\\\\\\"\\n\"\n}\n"},
		{writeJSONLine, "{\"event\":\"<a>\\u001b[2J\\u007f\\u009b2J\\u202eb\\udb40\\udc41\\u2028ä\uef85\\\\\\\"\\n\"}\n"},
	} {
		var out bytes.Buffer
		require.NoError(t, c.write(&out, map[string]string{"event": name}))
		assert.Equal(t, c.want, out.String())
		var back map[string]string
		require.NoError(t, json.Unmarshal(out.Bytes(), &back))
		assert.Equal(t, name, back["event"])
	}
	assert.Error(t, writeJSON(io.Discard, math.NaN()))
	assert.Error(t, writeJSON(failingWriter{}, 1))
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestShownNames: a terminal gets names of events as printable characters, and a file as they are.
func TestShownNames(t *testing.T) {
	dir := tracefsOfFiles(t)
	const line = "u:a\x1b[2J u32 b\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dynamic_events"), []byte(line), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "events/user_events/a\x1b[2J"), 0o700))
	for terminal, want := range map[bool]string{false: line, true: "u:a\\x1b[2J u32 b\n"} {
		var out, errs bytes.Buffer
		e := new(feed).env(t, &out, &errs)
		e.terminal = func(any) (terminalSize, bool) { return terminalSize{80, 24}, terminal }
		assert.Equal(t, 0, run(t.Context(), e, []string{"--tracefs", dir, "events", "save"}), errs.String())
		assert.Equal(t, want, out.String())
	}

	var out bytes.Buffer
	e := new(feed).env(t, &out, io.Discard)
	require.NoError(t, e.showHits(&topFlags{format: "json"}, []hits{{topRow: topRow{Event: "user_events:a\x7f\u202e"}}}, 0))
	assert.Contains(t, out.String(), `"event":"user_events:a\u007f\u202e"`)
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), "one line for each event")
}

// tracefsOfFiles returns a tracefs without events.
func tracefsOfFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, tracefs.StatusFile), []byte("\nActive: 0\nBusy: 0\n"), 0o600))
	return dir
}

// TestFindCgroup: a name as in /proc/PID/cgroup is one below the root, even if the machine has such a directory, too.
func TestFindCgroup(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	for name, want := range map[string]string{
		"/": root, "/proc": filepath.Join(root, "proc"), "proc": filepath.Join(root, "proc"),
		filepath.Join(root, "proc"): filepath.Join(root, "proc"),
	} {
		dir, err := findCgroup(name, root)
		require.NoError(t, err)
		assert.Equal(t, want, dir, name)
	}
	_, err := findCgroup("nosuch", root)
	assert.ErrorContains(t, err, filepath.Join(root, "nosuch"))
}
