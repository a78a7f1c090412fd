package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/userevents/userevents-go/cmd/uevents/internal/perfetto"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestRecordKernel records the log records of this process while a command runs, in several formats.
func TestRecordKernel(t *testing.T) {
	kerneltest.RequireTool(t, "protoc")
	events, err := sloghandler.New("recorded", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, events.Close()) })
	logger := slog.New(events)
	const n = 100
	// record runs the command, during which this process logs.
	record := func(name string, args ...string) (path, errs string) {
		t.Helper()
		path = filepath.Join(t.TempDir(), name)
		var stdout, stderr syncbuffer.Buffer
		e := newEnv()
		e.out, e.err = &stdout, &stderr
		code := make(chan int, 1)
		slept, begin := filepath.Join(t.TempDir(), "slept"), filepath.Join(t.TempDir(), "begin")
		go func() {
			args := append([]string{"record", "recorded", "-o", path}, args...)
			const script = `sleep 0.02; : >"$0"; while [ ! -e "$1" ]; do sleep 0.02; done; exit 3`
			code <- run(t.Context(), e, append(args, "--", "sh", "-c", script, slept, begin))
		}()
		testscale.Eventually(t, func() bool { return strings.Contains(stderr.String(), "recording ") }, "%s", &stderr)
		// The kernel has switched to the shell by then, under its name: it has waited for a child.
		require.NoError(t, exists(slept), "%s", &stderr)
		for i := range n {
			logger.Info("logged", "n", i)
		}
		require.NoError(t, os.WriteFile(begin, nil, 0o600))
		require.Equal(t, 3, <-code, "the exit code of the command: %s", &stderr)
		return path, stderr.String()
	}

	path, errs := record("x.jsonl")
	assert.Regexp(t, `100 matched = 100 recorded; \d+\.\d s\nwrote .+: \d+\.\d kB; 1 process, 100 log records; `, errs)
	var shown, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &shown, &stderr
	require.Equal(t, 0, run(t.Context(), e, []string{"replay", path, "-o", "{{.pid}} {{.message}} {{.n}}"}), "%s", &stderr)
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d logged %d\n", os.Getpid(), i)
	}
	assert.Equal(t, want.String(), shown.String())

	path, _ = record("x.otlp.json")
	line, err := os.ReadFile(strings.TrimSuffix(path, "otlp.json") + "logs.otlp.json")
	require.NoError(t, err)
	logs, err := (&plog.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalLogs(bytes.TrimSpace(line))
	require.NoError(t, err)
	require.Equal(t, n, logs.LogRecordCount())
	resource := logs.ResourceLogs().At(0).Resource().Attributes().AsRaw()
	exe, err := os.Executable()
	require.NoError(t, err)
	own, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"process.pid": int64(os.Getpid()), "process.executable.name": filepath.Base(exe), "process.linux.cgroup": strings.TrimSpace(strings.TrimPrefix(string(own), "0::")),
	}, resource)

	before, err := perfetto.MachineClocks()
	require.NoError(t, err)
	path, errs = record("x.pftrace", "--sched")
	after, err := perfetto.MachineClocks()
	require.NoError(t, err)
	assert.Regexp(t, `recording 5 events to `, errs)
	checkTimeline(t, path, n, before, after)
}

// checkTimeline reads a file by Perfetto's schema: log records are in CLOCK_MONOTONIC, context switches in
// CLOCK_BOOTTIME, all within the time of the recording.
func checkTimeline(t *testing.T, path string, n int, before, after perfetto.Clocks) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	protoc := exec.Command("protoc", "--proto_path=../perfetto/testdata", "--decode=perfetto.protos.Trace", "trace.proto")
	protoc.Stdin = file
	out, err := protoc.Output()
	require.NoError(t, err)
	text := string(out)
	assert.Equal(t, n, strings.Count(text, `name: "logged"`))
	within := func(pattern string, least int, from, to uint64) {
		t.Helper()
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
		require.GreaterOrEqual(t, len(found), least)
		for _, m := range found {
			at, err := strconv.ParseUint(m[1], 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, at, from)
			require.LessOrEqual(t, at, to)
		}
	}
	within(`timestamp: (\d+)\n  trusted_packet_sequence_id: 1\n  track_event`, n, before.Monotonic, after.Monotonic)
	within(`event {\n      timestamp: (\d+)\n`, 2, before.Boottime, after.Boottime)
	assert.Contains(t, text, `next_comm: "sh"`)
}

// TestRecordDiskFull: a write error ends the recording, and has a remedy.
func TestRecordDiskFull(t *testing.T) {
	for _, n := range []int{1, 5000} { // in Close, and before
		f := newFeed(make([]string, n)...)
		code, _, errs := f.run(t, "record", "a", "-o", "/dev/full", "--format", "jsonl")
		assert.Equal(t, exitError, code)
		assert.Equal(t, 1, strings.Count(errs, "no space left on device"), errs)
		assert.Contains(t, errs, "-> the file has what was recorded before; make room")
		assert.Contains(t, errs, "\nwrote /dev/full: 0 B, a part of 1 process, ")
		assert.Contains(t, errs, " read (the file has a part of them)")
		assert.NotContains(t, errs, " recorded;")
		assert.True(t, f.closed)
	}
	code, _, errs := newFeed("one").run(t, "record", "a", "-o", "/dev/full", "--format", "pb.gz")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "-> the profile is incomplete; make room")
	assert.NotContains(t, errs, "has what was recorded")
	_, err := os.Lstat("/dev/full")
	assert.NoError(t, err, "it was there before")
}

// attempt puts something at a path that a command is about to write to. With want, the command refuses it.
type attempt struct {
	want string
	make func(path, other string) error
}

// tryOutputs runs commands that write to a path, after each attempt. The other file keeps what it has.
func tryOutputs(t *testing.T, attempts []attempt) {
	const kept = "kept\n"
	dir := t.TempDir()
	t.Chdir(dir)
	path, other := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "other")
	for n, a := range attempts {
		for _, name := range []string{path, "x.jsonl", "/proc/self/cwd/x.jsonl", "/dev/.." + path, "/" + path} {
			for _, verb := range [][]string{{"record", "myapp", "-o", name}, {"events", "save", "--tracefs", listedTracefs, name}} {
				require.NoError(t, os.WriteFile(other, []byte(kept), 0o600))
				require.NoError(t, a.make(path, other), n)
				code, _, errs := newFeed("one").run(t, verb...)
				assert.Equal(t, a.want == "", code == exitOK, "%d %s", n, errs)
				assert.Contains(t, errs, a.want, n)
				text, err := os.ReadFile(other)
				require.NoError(t, err)
				assert.Equal(t, kept, string(text), n)
				require.NoError(t, os.Remove(path))
			}
		}
	}
	assert.NoFileExists(t, filepath.Join(dir, "none"))
}

// listedTracefs is a tracefs of files, whatever directory a test is in.
var listedTracefs = func() string {
	dir, err := filepath.Abs("testdata/tracefs")
	if err != nil {
		panic(err)
	}
	return dir
}()

// TestOutputThroughLink: another user who owns the directory can put a link to any file at the path, or another name of a file.
func TestOutputThroughLink(t *testing.T) {
	tryOutputs(t, []attempt{
		{"x.jsonl is a link", func(path, other string) error { return os.Symlink(other, path) }},
		{"x.jsonl is a link", func(path, _ string) error { return os.Symlink("none", path) }},
		{"x.jsonl is a link", func(path, _ string) error { return os.Symlink(os.DevNull, path) }},
		{"", func(path, other string) error { return os.Link(other, path) }},
	})
}

// TestOutputOfOthers: another user can read what is in a file or a pipe of his own, and a command waits for a program that reads a pipe.
func TestOutputOfOthers(t *testing.T) {
	testscale.NeedRoot(t, "to make files of another user")
	chown := func(path string) error { return os.Chown(path, 65534, 65534) }
	tryOutputs(t, []attempt{
		{"the file belongs to another user", func(path, _ string) error { return errors.Join(os.WriteFile(path, nil, 0o600), chown(path)) }},
		{"the file belongs to another user", func(path, _ string) error { return errors.Join(syscall.Mkfifo(path, 0o600), chown(path)) }},
	})
	path := filepath.Join(t.TempDir(), "x.otlp.json")
	for _, signal := range []string{"logs", "traces", "metrics"} {
		file := strings.TrimSuffix(path, "otlp.json") + signal + ".otlp.json"
		require.NoError(t, errors.Join(os.WriteFile(file, nil, 0o600), chown(file)))
		code, _, errs := newFeed("one").run(t, "record", "myapp", "-o", path)
		assert.Equal(t, exitError, code)
		assert.Contains(t, errs, "the file belongs to another user")
		require.FileExists(t, file)
		require.NoError(t, os.Remove(file))
	}
}

// TestOutputsAtOnce: of recordings that begin at the same time, one gets the file.
func TestOutputsAtOnce(t *testing.T) {
	for i := range 200 {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if i%2 == 0 {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		var files [3]*os.File
		var all sync.WaitGroup
		for g := range files {
			all.Go(func() { files[g], _ = openOutput(t.Context(), path) })
		}
		all.Wait()
		opened := slices.DeleteFunc(files[:], func(f *os.File) bool { return f == nil })
		assert.LessOrEqual(t, len(opened), 1)
		for _, f := range opened {
			assert.NoError(t, f.Close())
		}
	}
}

// TestOutputAtTheEnd: a file that is created when the command ends, as those of OTLP are with their first data, does not wait.
func TestOutputAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for range 20 { // new at first, then in place of the one before
		f, err := openOutput(ctx, path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

// TestOutputInPlace: a file in a directory that is not writable, or that is mounted, cannot be replaced: it is written in place.
func TestOutputInPlace(t *testing.T) {
	testscale.NeedRoot(t, "to mount a file on itself")
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for mode, want := range map[os.FileMode]int{0o600: exitOK, 0o644: exitError} {
		require.NoError(t, os.WriteFile(path, []byte("earlier"), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, syscall.Mount(path, path, "", syscall.MS_BIND, ""))
		code, _, errs := newFeed("one").run(t, "record", "myapp", "-o", path)
		assert.Equal(t, want, code, errs)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want == exitOK, strings.Contains(string(text), `"message":"one"`), errs)
		assert.Equal(t, want != exitOK, strings.Contains(string(text), "earlier"))
		require.NoError(t, syscall.Unmount(path, 0))
	}
}

// TestOutputToDescriptor: output of the shell's choice begins where the shell says.
func TestOutputToDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all")
	require.NoError(t, os.WriteFile(path, []byte("earlier\n"), 0o600))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	code, _, errs := newFeed("one").run(t, "record", "myapp", "-o", fmt.Sprintf("/dev/fd/%d", f.Fd()), "--format", "jsonl")
	assert.Equal(t, exitOK, code, errs)
	require.NoError(t, f.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Regexp(t, `^earlier\n.*"message":"one"`, string(text))
}
