package cli

import (
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// whenTool is a command that runs while two programs serve requests.
type whenTool struct {
	args  []string
	ready string // what it says once it is attached
	cmd   *exec.Cmd
	out   syncbuffer.Buffer
	errs  syncbuffer.Buffer
}

// TestWhen: of 5,000 requests a second, of which one in 1,000 fails, the records of those that fail are shown, in two programs, and none
// of others: by record, watch, flight, and replay of a recording of everything.
func TestWhen(t *testing.T) {
	const buffer = "16M" // room for all records of a program; each of four tools has as much for each program
	n := 10_000
	if !memoryOrKernel(t) {
		n = 5000
	}
	dir := t.TempDir()
	name := fmt.Sprintf("when_%d", os.Getpid())
	start := startRequests(t, dir, name, n)
	when := []string{"--when", "level >= error", "--same", "request_id", "--window", "10m", "--hold", "256M"} // room for all: the machine may be slow
	both := []string{name + "_a", name + "_b"}
	file := func(name string) string { return filepath.Join(dir, name) }
	tools := map[string]*whenTool{
		"lines":  {args: slices.Concat([]string{"record"}, both, when, []string{"-o", file("when.jsonl"), "--buffer", buffer}), ready: "recording 8 events"},
		"all":    {args: slices.Concat([]string{"record"}, both, []string{"-o", file("all.jsonl"), "--buffer", buffer}), ready: "recording 8 events"},
		"watch":  {args: slices.Concat([]string{"watch"}, both, when, []string{"-o", "json", "--duration", "0", "--buffer", buffer}), ready: "attached 8 events"},
		"flight": {args: slices.Concat([]string{"flight"}, both, when, []string{"-o", dir, "--format", "jsonl", "--keep", buffer, "-n", "1"}), ready: "waiting for"},
	}
	for _, tool := range tools {
		tool.start(t)
	}
	start()
	for tool, say := range tools {
		signal := os.Interrupt
		if tool == "flight" {
			signal = syscall.SIGUSR1
		}
		require.NoError(t, say.cmd.Process.Signal(signal))
		require.NoError(t, say.cmd.Wait(), "%s: %s", tool, &say.errs)
		assert.NotRegexp(t, "[1-9][0-9,]* lost", say.errs.String(), tool)
		t.Log(tool, &say.errs)
	}

	want := map[string]int{}
	for i := range n {
		for step := range 4 {
			if requestFails(i) {
				want[fmt.Sprint("a r", i, " ", step)]++
				want[fmt.Sprint("b r", i, " ", step)]++
			}
		}
	}
	lines, err := os.ReadFile(file("when.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, want, recordsOf(t, name, string(lines)), "lines")
	assert.Equal(t, want, recordsOf(t, name, tools["watch"].out.String()), "watch")
	flown, err := os.ReadFile(strings.TrimSpace(tools["flight"].out.String()))
	require.NoError(t, err)
	assert.Equal(t, want, recordsOf(t, name, string(flown)), "flight")
	out, err := exec.Command("uevents", append([]string{"replay", "-o", "json", file("all.jsonl")}, when...)...).Output()
	require.NoError(t, err)
	assert.Equal(t, want, recordsOf(t, name, string(out)), "replay")
}

// TestWhenStack: a record that was held has the functions of its stack, though its program has ended.
func TestWhenStack(t *testing.T) {
	memoryOrKernel(t)
	name, file := fmt.Sprintf("whenstack_%d", os.Getpid()), filepath.Join(t.TempDir(), "go")
	serve := startRequests(t, filepath.Dir(file), name, 1000)
	h, err := sloghandler.New(name+"_c", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	watch := whenTool{args: []string{"watch", name + "_a", name + "_c", "--stack", "--when", "message == late", "--same", "request_id", "--window", "10m"}, ready: "attached 8 events"}
	watch.start(t)
	serve()
	slog.New(h).Info("late", "request_id", "r5")
	testscale.Eventually(t, func() bool { return strings.Contains(watch.out.String(), "late") }, "%s", &watch.errs)
	require.NoError(t, watch.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, watch.cmd.Wait())
	assert.Equal(t, 4, strings.Count(watch.out.String(), "/cli.requestProgram "), "%s%s", &watch.out, &watch.errs)
}

// start starts the tool, and waits until it is attached.
func (w *whenTool) start(t *testing.T) {
	w.cmd = exec.Command("uevents", w.args...)
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.errs
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	testscale.Eventually(t, func() bool { return strings.Contains(w.errs.String(), w.ready) }, "%s: %s", w.args, &w.errs)
}

// startRequests starts two programs, which do not tell of the same requests that they fail. The function that it returns lets them serve, and waits for
// their end.
func startRequests(t *testing.T, dir, name string, n int) (serve func()) {
	var programs []*exec.Cmd
	for _, part := range []string{"a", "b"} {
		args := []string{name + "_" + part, strconv.Itoa(n), filepath.Join(dir, "ready"+part), filepath.Join(dir, "go")}
		if part == "b" {
			args = append(args, "behind")
		}
		program := exec.Command("requestprogram", args...)
		program.Stderr = os.Stderr
		require.NoError(t, program.Start())
		t.Cleanup(func() { _ = program.Process.Kill() })
		programs = append(programs, program)
		require.NoError(t, exists(filepath.Join(dir, "ready"+part)))
	}
	return func() {
		require.NoError(t, create(filepath.Join(dir, "go")))
		for _, program := range programs {
			require.NoError(t, program.Wait())
		}
	}
}

// recordsOf counts the records in JSON lines by program, request and step.
func recordsOf(t *testing.T, name, lines string) map[string]int {
	got := map[string]int{}
	for line := range strings.Lines(lines) {
		var record struct {
			Event  string
			Fields struct {
				ID   string `json:"request_id"`
				Step int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		got[fmt.Sprint(record.Event[len(name)+1:][:1], " ", record.Fields.ID, " ", record.Fields.Step)]++
	}
	return got
}

// TestFlight: the command writes a file for a trigger and for a signal, and the rate holds another trigger back.
func TestFlight(t *testing.T) {
	kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	ev, err := p.Register(tracepoint.MustParse("pilot u32 status; u32 n"), nil)
	require.NoError(t, err)
	write := func(status, n byte) {
		t.Helper()
		written, err := ev.WriteRecord([]byte{0, 0, 0, 0, status, 0, 0, 0, n, 0, 0, 0})
		require.NoError(t, err)
		require.True(t, written)
	}
	dir := t.TempDir()
	var stdout, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &stdout, &stderr
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, e, []string{"flight", "pilot", "--trigger", "status >= 50", "--at-most", "1/h", "--keep", "1M", "-o", dir, "--format", "txt"})
	}()
	eventually := func(s *syncbuffer.Buffer, pattern string) {
		t.Helper()
		testscale.Eventually(t, func() bool { return regexp.MustCompile(pattern).MatchString(s.String()) }, "%s\n%s", &stdout, &stderr)
	}
	eventually(&stderr, `waiting for pilot with status >= 50, or kill -USR1 \d+; Ctrl-C ends\n`)
	for n := range byte(10) {
		write(20, n)
	}
	write(60, 10)
	eventually(&stderr, `pilot of \S+\[\d+\]: 11 records of 1 process in \d+\.\d s\n`)
	write(70, 11)
	eventually(&stderr, `triggered again: held back by --at-most 1/h\n`)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	eventually(&stderr, `signal: 1 record of 1 process`)
	eventually(&stdout, `(?s)\n.*\n`)
	write(20, 12)
	cancel()
	assert.Equal(t, exitOK, <-code)
	// More may follow: records about processes that started or ended while the rings were copied are lost.
	assert.Contains(t, stderr.String(), "13 matched = 12 read + 0 overwritten + 1 still kept + 0 lost; 2 triggers, 1 held back; 2 files")

	files := strings.Fields(stdout.String())
	require.Len(t, files, 2)
	for i, want := range []int{11, 1} {
		assert.Equal(t, dir, filepath.Dir(files[i]))
		st, err := os.Stat(files[i])
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), st.Mode(), "logs have secrets")
		text, err := os.ReadFile(files[i])
		require.NoError(t, err)
		assert.Equal(t, want, strings.Count(string(text), "\n"), "%s", text)
		assert.Regexp(t, `pilot +status=\d+ n=\d+\n$`, string(text))
	}
}

//go:noinline
func handleRequest(logger *slog.Logger) { logger.Warn("slow") }

// TestWatchStack: the line below a record is the function that logged.
func TestWatchStack(t *testing.T) {
	kerneltest.Require(t)
	h, err := sloghandler.New("stacked", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	logger := slog.New(h)
	var stdout, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &stdout, &stderr
	code := make(chan int, 1)
	go func() { code <- run(t.Context(), e, []string{"watch", "stacked", "--stack", "-n", "1"}) }()
	testscale.Eventually(t, func() bool { return strings.Contains(stderr.String(), "attached 4 events") }, "%s", &stderr)
	handleRequest(logger)
	assert.Equal(t, exitOK, <-code)
	lines := strings.Split(stdout.String(), "\n")
	require.Greater(t, len(lines), 3, "%s", &stdout)
	assert.Regexp(t, `WARN .* slow$`, lines[0])
	assert.Regexp(t, `^    \S+/cli\.handleRequest \S+/tail_linux_test\.go:\d+$`, lines[1])
	assert.Regexp(t, `^    \S+/cli\.TestWatchStack \S+/tail_linux_test\.go:\d+$`, lines[2])
	assert.Regexp(t, `^    testing\.tRunner `, lines[3])
}
