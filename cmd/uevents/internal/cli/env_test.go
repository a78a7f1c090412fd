package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
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

// TestMessageOf: the remedy of an error is on a line of its own, wherever the error has it.
func TestMessageOf(t *testing.T) {
	cause := &uevents.Error{Op: "open", Name: "/x/user_events_data", Err: fs.ErrNotExist, Remedy: "mount it"}
	for _, c := range []struct {
		err             error
		message, remedy string
	}{
		{cause, "open /x/user_events_data: file does not exist", "mount it"},
		{fmt.Errorf("setup: %w", cause), "setup: open /x/user_events_data: file does not exist", "mount it"},
		{hintError{cause, "see there"}, "open /x/user_events_data: file does not exist (mount it)", "see there"},
		{errors.New("x"), "x", ""},
	} {
		message, remedy := messageOf(c.err)
		assert.Equal(t, []string{c.message, c.remedy}, []string{message, remedy})
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("other"), exitError},
		{fs.ErrNotExist, exitError},
		{syscall.EADDRINUSE, exitError},
		{usageError{errors.New("wrong")}, exitUsage},
		{fmt.Errorf("event: %w", uevents.ErrNotSupported), exitNotSupported},
		{fmt.Errorf("perf: %w", errors.ErrUnsupported), exitNotSupported},
		{&uevents.Error{Op: "open", Err: syscall.EACCES}, exitNotPermitted},
		{fmt.Errorf("open: %w", syscall.EPERM), exitNotPermitted},
		{silentError{fmt.Errorf("%w", errLost)}, exitLost},
		{errors.Join(uevents.ErrNotSupported, fs.ErrPermission), exitNotSupported}, // permission would not help
	} {
		assert.Equal(t, c.want, exitCode(c.err), "%v", c.err)
	}
}

// TestHintForOpen: the remedy is that of the call that failed, with the path of this program, once.
func TestHintForOpen(t *testing.T) {
	said := func(err error) (message, remedy string) { return messageOf(hintForOpen(fmt.Errorf("reader: %w", err))) }
	call := func(name string) error { return os.NewSyscallError(name, syscall.EPERM) }
	message, remedy := said(&perfaccess.Error{Err: call("perf_event_open"), Process: perfaccess.Process{Paranoid: 4}})
	assert.Equal(t, "perf_event_open: operation not permitted (no CAP_PERFMON, and kernel.perf_event_paranoid is 4)", message)
	assert.Regexp(t, `^sudo setcap cap_perfmon\+ep `+regexp.QuoteMeta(self())+"\n(?s:.*)\nor run it as root; or let a group ", remedy)
	_, remedy = said(call("open"))
	assert.Contains(t, remedy, "files of tracefs")
	_, remedy = said(call("mmap"))
	assert.Empty(t, remedy, "the error has the remedy")

	// The kernel refuses to list its events, which it has or not.
	none := reader.NoMatchError{Patterns: []string{"a", "b"}, Kernel: call("open")}
	defer func(o *uevents.Options) { kernelOnly = o }(kernelOnly)
	for _, has := range []bool{true, false} {
		kernelOnly = &uevents.Options{Transport: 99} // it cannot be told
		if !has {
			kernelOnly.Transport = uevents.TransportOff
		}
		message, remedy = said(none)
		want, hint, code := "no event matches a, b; the kernel's events are not read: open: operation not permitted", "files of tracefs belong to root", exitNotPermitted
		if !has {
			want, hint, code = "no event matches a, b", "see uevents list", exitError
		}
		assert.Equal(t, want, message)
		assert.Contains(t, remedy, hint)
		assert.Equal(t, code, exitCode(hintForOpen(none)))
	}
}
