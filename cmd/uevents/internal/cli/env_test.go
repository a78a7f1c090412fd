package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents/tracefs"
)

// TestKernelWithoutUserEvents: where the kernel has tracefs and no user_events, all commands say so, with their exit code.
func TestKernelWithoutUserEvents(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "events"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dynamic_events"), nil, 0o644))
	for _, args := range [][]string{
		{"list"},
		{"show", "myapp"},
		{"watch", "myapp"},
		{"record", "myapp", "-o", filepath.Join(dir, "x.jsonl")},
		{"top"},
		{"hist", "myapp_request", "--by", "route"},
		{"flight", "myapp"},
		{"save"},
		{"restore"},
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
	for _, args := range [][]string{{"list"}, {"save"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), new(feed).env(t, &out, &errs), append(args, "--tracefs", t.TempDir()))
		assert.Equal(t, exitError, code, "%s: %s", args, errs.String())
		assert.Contains(t, errs.String(), "no tracefs", "%s", args)
	}
}

// tracefsOfFiles returns a tracefs without events.
func tracefsOfFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, tracefs.StatusFile), []byte("\nActive: 0\nBusy: 0\n"), 0o600))
	return dir
}
