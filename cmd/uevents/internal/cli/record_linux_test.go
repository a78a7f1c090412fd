package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	path := filepath.Join(t.TempDir(), "full") // what removes it does not remove the device
	require.NoError(t, os.Symlink("/dev/full", path))
	code, _, errs := newFeed("one").run(t, "record", "a", "-o", path, "--format", "pb.gz")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "-> the profile is incomplete; make room")
	assert.NotContains(t, errs, "has what was recorded")
	_, err := os.Lstat(path)
	assert.NoError(t, err, "it was there before")
}

// TestRecordDiskFullCommand: if the recording fails, the command continues.
func TestRecordDiskFullCommand(t *testing.T) {
	f := newFeed(make([]string, 5000)...)
	f.more = nil
	var out, errs syncbuffer.Buffer
	end := filepath.Join(t.TempDir(), "end")
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), f.env(t, &out, &errs), []string{
			"--tracefs", tracefsOfFiles(t), "record", "a", "-o", "/dev/full", "--format", "jsonl",
			"--", "sh", "-c", `until [ -e "$0" ]; do sleep 0.02; done; echo done`, end,
		})
	}()
	testscale.Eventually(t, func() bool { return strings.Contains(errs.String(), "! recording has ended, sh goes on: ") }, "%s", &errs)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	assert.Equal(t, exitError, <-code)
	assert.Equal(t, "done\n", out.String())
}

// pipeRecorder is a record whose file is a pipe.
type pipeRecorder struct {
	path string
	end  func() // like an interrupt
	code chan int
	errs *syncbuffer.Buffer
}

func recordToPipe(t *testing.T, f *feed, args ...string) *pipeRecorder {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &pipeRecorder{
		path: filepath.Join(t.TempDir(), "pipe.jsonl"), code: make(chan int, 1), errs: new(syncbuffer.Buffer),
		end: func() { cancel(endedBy{os.Interrupt}) },
	}
	t.Cleanup(r.end)
	require.NoError(t, syscall.Mkfifo(r.path, 0o600))
	e := f.env(t, io.Discard, r.errs)
	go func() {
		r.code <- run(ctx, e, append([]string{"--tracefs", tracefsOfFiles(t), "record", "a", "-o", r.path}, args...))
	}()
	return r
}

// TestRecordPipe: a program that reads the pipe gets the records, and the summary says how many bytes.
func TestRecordPipe(t *testing.T) {
	r := recordToPipe(t, newFeed("one", "two"))
	content, err := os.ReadFile(r.path)
	require.NoError(t, err)
	assert.Equal(t, exitOK, <-r.code, r.errs)
	assert.Equal(t, 2, strings.Count(string(content), "\n"))
	assert.Regexp(t, `wrote .+: [1-9]\d+ B; 1 process, 2 log records`, r.errs.String())
}

// opens reports whether a thread of this process waits in open(2).
func opens(t *testing.T) bool {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/syscall")
	require.NoError(t, err)
	require.NotEmpty(t, threads)
	return slices.ContainsFunc(threads, func(name string) bool {
		call, _ := os.ReadFile(name) // the thread may have ended
		return strings.HasPrefix(string(call), strconv.Itoa(syscall.SYS_OPENAT)+" ")
	})
}

// TestRecordPipeUnread: an interrupt, or the duration, ends the wait for a program that reads the pipe.
func TestRecordPipeUnread(t *testing.T) {
	f := newFeed("one")
	f.more = nil
	r := recordToPipe(t, f)
	testscale.Eventually(t, func() bool { return opens(t) }, "record does not open the pipe")
	r.end()
	assert.Equal(t, exitError, <-r.code)
	assert.Contains(t, r.errs.String(), "pipe.jsonl: no program has opened the pipe to read it: ended by the signal interrupt\n")
	assert.NotContains(t, r.errs.String(), "wrote")
	assert.True(t, f.closed)

	r = recordToPipe(t, newFeed("one"), "--duration", "50ms")
	assert.Equal(t, exitError, <-r.code)
	assert.Contains(t, r.errs.String(), "no program has opened the pipe to read it: context deadline exceeded\n")
}

// full reports whether a pipe has no room.
func full(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer f.Close()
	var writable syscall.FdSet
	fd := int(f.Fd())
	writable.Bits[fd/strconv.IntSize] |= 1 << (fd % strconv.IntSize)
	n, err := syscall.Select(fd+1, nil, &writable, nil, new(syscall.Timeval))
	require.NoError(t, err)
	return n == 0
}

// TestRecordPipeFull: an interrupt ends the wait for a program that has opened the pipe, and does not read it.
func TestRecordPipeFull(t *testing.T) {
	r := recordToPipe(t, newFeed(make([]string, 20_000)...))
	reader, err := os.Open(r.path)
	require.NoError(t, err)
	defer reader.Close()
	defer func(d time.Duration) { pipeTime = d }(pipeTime)
	pipeTime = time.Millisecond
	testscale.Eventually(t, func() bool { return full(t, r.path) }, "record does not write to the pipe")
	r.end()
	assert.Equal(t, exitError, <-r.code)
	assert.Contains(t, r.errs.String(), "i/o timeout")
	assert.Regexp(t, `wrote .+: 65.5 kB, a part of 1 process, \d`, r.errs.String())
}

// TestRecordPipeGone: a program that stops reading ends the recording.
func TestRecordPipeGone(t *testing.T) {
	r := recordToPipe(t, newFeed(make([]string, 20_000)...))
	reader, err := os.Open(r.path)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	assert.Equal(t, exitError, <-r.code)
	assert.Contains(t, r.errs.String(), "broken pipe")
}
