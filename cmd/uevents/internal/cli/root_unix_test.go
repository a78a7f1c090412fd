//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestHangup: a terminal that is closed ends a command in good order, also if the shell says so a second time, unless the command
// was started to survive it.
func TestHangup(t *testing.T) {
	hangup := func() {
		t.Helper()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	}
	reset := func() { // Reset alone leaves it ignored
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGHUP)
		signal.Stop(signals)
	}
	reset()
	defer reset()
	ctx, stop := untilSignal()
	defer stop()
	hangup()
	<-ctx.Done()
	assert.Equal(t, endedBy{syscall.SIGHUP}, context.Cause(ctx))
	testscale.Eventually(t, func() bool { return signal.Ignored(syscall.SIGHUP) }, "a second hangup ends the command")
	hangup()

	// It is ignored now, as nohup does.
	ctx, stop = untilSignal()
	defer stop()
	hangup()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.Equal(t, endedBy{syscall.SIGTERM}, context.Cause(ctx), "it came second")
}

// TestSignalWhileItEnds: a signal that comes when a command has said its last line, and ends by itself, does not kill it. Under the
// race detector a process lives on for a second then.
func TestSignalWhileItEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for range 5 {
		cmd := exec.Command("uevents", "replay", file)
		errs, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var said strings.Builder
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			_ = cmd.Process.Signal(os.Interrupt)
		}
		require.NoError(t, cmd.Wait(), "%s", &said)
	}
}

// survive catches signals that would end the test where record does not catch them. Commands that the test starts get them,
// also if the test was started with signals ignored, which a shell could not trap.
func survive(t *testing.T) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(signals) })
}

// TestChildSecondSignal: a second signal goes to the command, too, and does not end record before it, however soon it comes: only
// startChild handles signals here, else the test would die of them.
func TestChildSecondSignal(t *testing.T) {
	var out, errs syncbuffer.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	const command = `trap 'echo INT' INT; trap 'echo TERM' TERM; echo ready; until [ -e "$0" ]; do sleep 0.02; done; exit 3`
	end := filepath.Join(t.TempDir(), "end")
	child, err := (&feed{}).env(t, &out, &errs).startChild(ctx, []string{"sh", "-c", command, end}, nil)
	require.NoError(t, err)
	says := func(want string) {
		t.Helper()
		testscale.Eventually(t, func() bool { return strings.HasPrefix(out.String(), want) }, "%s", &out)
	}
	says("ready\n")
	// As when untilSignal has removed its handler, and the context is about to end. Once Stop returns, all handlers have the signal.
	first := make(chan os.Signal, 1)
	signal.Notify(first, syscall.SIGTERM)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-first
	signal.Stop(first)
	cancel(endedBy{syscall.SIGTERM})
	says("ready\nTERM\n")
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	says("ready\nTERM\nINT\n")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	assert.Equal(t, commandError{3}, child.wait())
}

// TestForeground: the foreground of a terminal is that of the process group, whatever the name of the program.
func TestForeground(t *testing.T) {
	for stat, want := range map[string]bool{
		"7 (a) S 1 7 7 34816 7 4194304":      true,
		"7 (a) S 1 7 7 34816 9 4194304":      false,
		"7 (a) S 1 7 7 0 -1 4194304":         false,
		"7 (a) S 1 0 0 0 0 4194304":          false,
		"7 (a) 1 1) S 1 7 7 34816 7 4194304": true,
		"7 (a) S 1 7 7":                      false,
		"":                                   false,
	} {
		assert.Equal(t, want, isForeground(stat), stat)
	}
}

// TestChildSignal: a signal that ends record ends its command, too. Only an interrupt in a terminal has reached the command
// already.
func TestChildSignal(t *testing.T) {
	survive(t)
	const command = "trap 'echo INT; exit' INT; trap 'echo TERM; exit' TERM; echo ready; while kill -0 $PPID; do sleep 0.02; done"
	for _, c := range []struct {
		signal     syscall.Signal
		foreground bool
		want       string
	}{
		{syscall.SIGINT, false, "INT"}, {syscall.SIGTERM, false, "TERM"}, {syscall.SIGINT, true, "TERM"}, {syscall.SIGTERM, true, "TERM"},
	} {
		var out, errs syncbuffer.Buffer
		e := (&feed{}).env(t, &out, &errs)
		e.foreground = func() bool { return c.foreground }
		ctx, cancel := context.WithCancelCause(t.Context())
		child, err := e.startChild(ctx, []string{"sh", "-c", command}, nil)
		require.NoError(t, err)
		testscale.Eventually(t, func() bool { return out.String() == "ready\n" }, "%s", &errs)
		cancel(endedBy{c.signal})
		if c.signal == syscall.SIGINT && c.foreground { // the next signal is the first that it gets
			testscale.Eventually(t, func() bool {
				require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
				return out.String() != "ready\n"
			}, "%s", &errs)
		}
		assert.NoError(t, child.wait())
		got := slices.Compact(strings.Fields(out.String())) // the trap may run again before the shell exits
		assert.Equal(t, []string{"ready", c.want}, got, "%v, foreground %v: %s", c.signal, c.foreground, &errs)
	}
}

// TestReplayPipe: FILE can be a pipe, as <(COMMAND) of a shell is. The formats that need a file say so.
func TestReplayPipe(t *testing.T) {
	for content, wants := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		`{"message":"one","kind":"log"}` + "\n" + `{"message":"two","kind":"log"}` + "\n": {exitOK, "one\ntwo\n", ""},
		"": {exitOK, "", "no records\n"},
		"PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00": {exitError, "", "a finished perf.data is read at several places, which a pipe does not permit: give the name of the file"},
	} {
		for _, path := range []string{filepath.Join(t.TempDir(), "pipe"), "-"} {
			var out, errs syncbuffer.Buffer
			e := (&feed{}).env(t, &out, &errs)
			if path == "-" {
				e.in = strings.NewReader(content)
			} else {
				require.NoError(t, syscall.Mkfifo(path, 0o600))
				go func() { assert.NoError(t, os.WriteFile(path, []byte(content), 0)) }()
			}
			assert.Equal(t, wants.code, run(t.Context(), e, []string{"replay", path, "-f", "message"}), "%s: %s", path, &errs)
			assert.Equal(t, wants.stdout, out.String())
			if wants.stderr == "" {
				assert.Empty(t, errs.String())
			} else {
				assert.Contains(t, errs.String(), wants.stderr)
			}
		}
	}
}

// TestReplayCompressed: a compressed recording is not read as lines.
func TestReplayCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl.gz")
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte("{}\n"))
	require.NoError(t, errors.Join(err, w.Close(), os.WriteFile(path, b.Bytes(), 0o600)))
	code, out, errs := newFeed().run(t, "replay", path)
	assert.Equal(t, exitError, code)
	assert.Empty(t, out)
	assert.Equal(t, "uevents: "+path+": the file is compressed\n  -> zcat FILE | uevents replay -\n", errs)
}
