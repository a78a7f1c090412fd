package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
)

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
