package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// recordTo runs record with the feed, and returns the content of the file.
func (f *feed) recordTo(t *testing.T, name string, args ...string) (code int, file, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	code, out, errs := f.run(t, append([]string{"record", "-o", path}, args...)...)
	assert.Empty(t, out)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	st, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "logs have secrets")
	return code, string(data), strings.ReplaceAll(errs, path, "FILE")
}

// lostFeed is a feed with a log record and a span, and losses.
func lostFeed() *feed {
	f := newFeed("one")
	span := newRecord("GET /", 0)
	span.Kind, span.PID, span.Duration, span.TraceID, span.SpanID = record.KindSpan, 7, time.Second, [16]byte{1}, [8]byte{2}
	f.events = append(f.events, span)
	f.notices = []reader.Notice{{Kind: reader.NoticeLost, Event: "user_events:myapp_info", Count: 3, Time: time.Unix(1e9, 5)}}
	f.stats.Events[0] = reader.EventStats{Name: "user_events:myapp_info", Matched: 5, Read: 2, Lost: 3}
	return f
}

func TestRecord(t *testing.T) {
	code, file, errs := lostFeed().recordTo(t, "x.jsonl", "myapp")
	assert.Equal(t, 0, code, errs)
	lines := strings.Split(strings.TrimSpace(file), "\n")
	require.Len(t, lines, 3)
	assert.Contains(t, lines[0], `"kind":"lost","event":"user_events:myapp_info","count":3`)
	assert.Contains(t, lines[1], `"message":"one"`)
	assert.Contains(t, lines[2], `"kind":"span"`)
	assert.Regexp(t, `^recording 1 event to FILE
! 3 records of myapp_info lost \(ring full\): --buffer 2M
5 matched = 2 recorded \+ 3 lost; \d+\.\d s
wrote FILE: \d+ B; 2 processes, 1 log record, 1 span; show it: uevents replay FILE
$`, errs)
}

// TestRecordReplaces: a file that others could read is replaced by one that they cannot; what is no file stays as it is.
func TestRecordReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("earlier", 10_000)), 0o600))
	require.NoError(t, os.Chmod(path, 0o644))
	code, _, errs := lostFeed().run(t, "record", "myapp", "-o", path)
	require.Equal(t, 0, code, errs)
	st, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(data), "earlier")

	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	code, _, errs = lostFeed().run(t, "record", "myapp", "-o", os.DevNull, "--format", "jsonl")
	assert.Equal(t, 0, code, errs)
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.Equal(t, before.Mode(), after.Mode())
}

// TestRecordTwice: a file that one recording writes is not replaced by another.
func TestRecordTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	f := newFeed("one")
	f.more = func(*feed) {
		code, _, errs := newFeed("two").run(t, "record", "myapp", "-o", path)
		assert.Equal(t, exitError, code)
		assert.Contains(t, errs, "another program is writing it")
		f.stopped = true
	}
	code, _, errs := f.run(t, "record", "myapp", "-o", path)
	require.Equal(t, exitOK, code, errs)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"message":"one"`)
}

// TestRecordRemoved: a recording whose file was removed or replaced meanwhile fails.
func TestRecordRemoved(t *testing.T) {
	for want, edit := range map[string]func(path string) error{
		"the file was removed while it was written": os.Remove,
		"x.jsonl was replaced while it was written": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		f := newFeed("one")
		f.more = func(*feed) {
			assert.NoError(t, edit(path))
			f.stopped = true
		}
		code, _, errs := f.run(t, "record", "myapp", "-o", path)
		assert.Equal(t, exitError, code)
		assert.Contains(t, errs, want)
	}
}

// TestRecordFormats: each format is written by the name of the file, or by --format.
func TestRecordFormats(t *testing.T) {
	for name, begins := range map[string]string{
		"x.jsonl": "{", "x.txt": time.Unix(1_000_000_000, 0).Format(time.DateTime), "x.pftrace": "\x0a", "x.pb.gz": "\x1f\x8b",
	} {
		t.Run(name, func(t *testing.T) {
			code, file, errs := lostFeed().recordTo(t, name, "myapp")
			assert.Equal(t, 0, code, errs)
			assert.Contains(t, errs, "wrote FILE: ")
			_, forced, _ := lostFeed().recordTo(t, "x", "myapp", "--format", strings.TrimPrefix(name, "x."))
			for _, file := range []string{file, forced} {
				assert.True(t, strings.HasPrefix(file, begins), "%.20q", file)
			}
		})
	}
}

// TestRecordOTLP: each signal has a file, and files of an earlier recording are removed.
func TestRecordOTLP(t *testing.T) {
	dir := t.TempDir()
	metrics := filepath.Join(dir, "x.metrics.otlp.json")
	require.NoError(t, os.WriteFile(metrics, []byte("earlier"), 0o600))
	code, _, errs := lostFeed().run(t, "record", "myapp", "-o", filepath.Join(dir, "x.otlp.json"))
	require.Equal(t, 0, code, errs)
	assert.NoFileExists(t, metrics)
	for signal, want := range map[string]string{"logs": "resourceLogs", "traces": "resourceSpans"} {
		name := filepath.Join(dir, "x."+signal+".otlp.json")
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		var line map[string]any
		require.NoError(t, json.Unmarshal(data, &line))
		assert.Contains(t, line, want)
		assert.Contains(t, errs, name)
	}
}

// TestRecordOTLPOfExited: events of the spans that a process has left open are written when it has exited, not at the end of the recording.
func TestRecordOTLPOfExited(t *testing.T) {
	f := newFeed("one")
	retry := newRecord("retry", 0)
	retry.Kind, retry.TraceID, retry.SpanID = record.KindSpanEvent, [16]byte{1}, [8]byte{2}
	f.events[0].Monotonic, retry.Monotonic = 1, 1
	f.events = append(f.events, retry)
	more := f.more
	f.more = func(f *feed) {
		f.notices = append(f.notices, reader.Notice{Kind: reader.NoticeExited, PID: retry.PID})
		for i := range 2 {
			last := newRecord("last", record.SeverityInfo)
			last.Monotonic = uint64(1+i) * uint64(time.Minute)
			f.events = append(f.events, last)
		}
		f.more = more
	}
	name := filepath.Join(t.TempDir(), "x.otlp.json")
	code, _, errs := f.run(t, "record", "myapp", "-o", name)
	require.Equal(t, 0, code, errs)
	data, err := os.ReadFile(strings.TrimSuffix(name, "otlp.json") + "logs.otlp.json")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, lines, 3)
	assert.Contains(t, lines[1], `"eventName":"retry"`)
}

// TestRecordOptions: flags become options of the reader.
func TestRecordOptions(t *testing.T) {
	f := newFeed()
	code, _, errs := f.recordTo(t, "x.pftrace", "myapp", "--sched", "--level", "warn", "--buffer", "1M")
	require.Equal(t, 0, code, errs)
	assert.Equal(t, []string{"myapp", "sched:sched_switch"}, f.o.Events)
	assert.False(t, f.o.Callchain)
	assert.Equal(t, "(kind in (log, other) and (level >= warn or not has(level))) or (system == sched)", f.o.Where.String())
	f = newFeed("one")
	_, _, _ = f.recordTo(t, "x.pb.gz", "myapp")
	assert.True(t, f.o.Callchain, "a profile is one of stacks")
	f = newFeed("one")
	_, _, _ = f.recordTo(t, "x.jsonl", "myapp", "--stack")
	assert.True(t, f.o.Callchain)
}

func TestRecordErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.jsonl")
	for _, args := range [][]string{
		{},
		{"a"},
		{"a", "-o", "x.xml"},
		{"a", "-o", file, "--format", "xml"},
		{"-o", file},
		{"-o", file, "--", "true"},
		{"a", "-o", file, "--duration", "-1s"},
		{"a", "-o", file, "--weight", "x"},
		{"a", "-o", file, "--sched", "--pid", "1"},
		{"a", "-o", file, "--sched", "--cgroup", "/"},
		{"a", "-o", file, "--level", "loud"},
		{"a", "-o", file, "--max-size", ""},
		{"a", "-o", file, "--max-size", "63K"},
		{"a", "-o", file, "--max-size", "2G"},
		{"a", "-o", file, "--max-size", "1x"},
		{"a", "-o", file, "--max-size", "64K", "--max-files", "1"},
		{"a", "-o", file, "--max-size", "64K", "--max-files", "-1"},
		{"a", "-o", file, "--max-files", "3"},
		{"a", "-o", "x.pb.gz", "--max-size", "64K"},
		{"a", "-o", "x.pftrace", "--max-size", "64K"},
		{"a", "-o", "x.otlp.json", "--max-size", "64K"},
		{"a", "-o", os.DevNull, "--format", "jsonl", "--max-size", "64K"},
	} {
		code, _, errs := newFeed().run(t, append([]string{"record"}, args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s", args, errs)
	}
	assert.NoFileExists(t, file)
	f := newFeed()
	f.openErr = os.ErrPermission
	code, _, _ := f.run(t, "record", "a", "-o", file)
	assert.Equal(t, exitNotPermitted, code)
	assert.NoFileExists(t, file, "nothing was recorded")
	code, _, errs := newFeed().run(t, "record", "a", "-o", filepath.Join(dir, "nosuch", "x.jsonl"))
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "no such file or directory")
	code, _, errs = newFeed().run(t, "record", "a", "-o", file, "--", "/nosuch/command")
	assert.Equal(t, exitNotFound, code)
	assert.Contains(t, errs, "/nosuch/command")
	assert.NoFileExists(t, file)
	code, _, _ = lostFeed().recordTo(t, "x.jsonl", "a", "--strict")
	assert.Equal(t, exitLost, code)
}

// TestProfileWithoutWeight: a profile that cannot be made is an error, and the file has none of an earlier recording.
func TestProfileWithoutWeight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pb.gz")
	newRecord := func(weight string) (code int, content []byte) {
		f := newFeed("one")
		f.events[0].Callchain = []uint64{1}
		f.events[0].SetFields([]record.Field{{Name: "bytes", Value: record.Int64Value(3)}})
		code, _, _ = f.run(t, "record", "a", "-o", path, "--weight", weight)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return code, content
	}
	code, first := newRecord("bytes")
	assert.Zero(t, code)
	assert.NotEmpty(t, first)
	code, second := newRecord("byts")
	assert.Equal(t, exitError, code)
	assert.Empty(t, second)
}

// TestRecordProgress: a terminal shows a line of progress once a second.
func TestRecordProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed("one", "two")
		f.stats.Rings, f.stats.BufferSize = 2, 4096
		f.stats.Events[0].Pending, f.stats.Events[0].Lost = 10, 1204
		f.more = nil
		var out, errs syncbuffer.Buffer
		e := f.env(t, &out, &errs)
		e.terminal = func(stream any) (terminalSize, bool) { return terminalSize{80, 24}, stream == e.err }
		path := filepath.Join(t.TempDir(), "x.jsonl")
		code := run(t.Context(), e, []string{"--tracefs", tracefsOfFiles(t), "record", "a", "-o", path, "--duration", "2500ms"})
		assert.Equal(t, 0, code)
		assert.Regexp(t, `\r00:01  2 records  \d+ B  1,204 lost  ring 8 %\x1b\[K\r\x1b\[K\r00:02  2 records .*\r\x1b\[K\d+ matched = 2 recorded`, errs.String())
		assert.Empty(t, out.String())

		// A line that is wrapped cannot be rewritten.
		f = newFeed("one")
		f.more = nil
		e = f.env(t, &out, &errs)
		e.terminal = func(any) (terminalSize, bool) { return terminalSize{17, 5}, true }
		assert.Equal(t, 0, run(t.Context(), e, []string{"--tracefs", tracefsOfFiles(t), "record", "a", "-o", path, "--duration", "1500ms"}))
		assert.Contains(t, errs.String(), "\r00:01  1 records\x1b[K\r", "the last column stays free")
	})
}

// TestRecordCommand: the command's events are recorded until it ends, and its exit code is that of record.
func TestRecordCommand(t *testing.T) {
	newRecord := func(f *feed, ctx context.Context, args ...string) (code int, out, errs string) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		code, out, errs = f.runContext(t, ctx, append([]string{"record", "a", "-o", path, "--sched", "--"}, args...)...)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(data), "\n"))
		return code, out, errs
	}
	running := func() *feed {
		f := newFeed("one")
		f.more = nil
		return f
	}
	code, out, errs := newRecord(running(), t.Context(), "sh", "-c", "echo out; echo err >&2; exit 7")
	assert.Equal(t, 7, code)
	assert.Equal(t, "out\n", out)
	assert.Contains(t, errs, "err\n1 matched = 1 recorded; ", "a summary follows")
	assert.NotContains(t, errs, "uevents: ")
	code, _, _ = newRecord(running(), t.Context(), "true")
	assert.Equal(t, 0, code)
	code, _, _ = newRecord(running(), t.Context(), "sh", "-c", "kill -TERM $$")
	assert.Equal(t, 128+15, code)

	// An interrupt goes to the command, whose last events are recorded.
	ctx, cancel := context.WithCancel(t.Context())
	ready := filepath.Join(t.TempDir(), "ready")
	go func() {
		_ = exists(ready)
		cancel()
	}()
	code, out, _ = newRecord(running(), ctx, "sh", "-c", `trap 'echo interrupted; exit 3' INT; echo >"$0"; while kill -0 $PPID; do sleep 0.05; done`, ready)
	assert.Equal(t, 3, code)
	assert.Equal(t, "interrupted\n", out)
}

func TestReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	f := lostFeed()
	f.events = append(f.events, newRecord("two\x1b[2J", record.SeverityError))
	code, _, errs := f.run(t, "record", "a", "-o", path)
	require.Equal(t, 0, code, errs)
	replay := func(args ...string) (code int, out, errs string) {
		f := &feed{}
		code, out, errs = f.run(t, append([]string{"replay", path}, args...)...)
		return code, out, strings.ReplaceAll(errs, path, "FILE")
	}
	code, out, errs := replay("--time", "utc")
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "2001-09-09 01:46:40.000Z INFO  myapp[812] one\n2001-09-09 01:46:40.000Z SPAN  myapp[7]   GET / 1.00s            trace=01000000\n2001-09-09 01:46:40.000Z ERROR myapp[812] two\\x1b[2J\n", out)
	const lost = "! 3 records were lost when it was recorded\n"
	assert.Equal(t, lost, errs)
	_, out, _ = replay("--level", "warn", "-f", "message,severity", "-o", "json")
	_, out, _ = strings.Cut(out, "\n") // the line about losses comes first
	assert.Equal(t, `{"message":"two\u001b[2J","severity":"ERROR"}`+"\n", out)
	_, out, _ = replay("--level", "warn", "--kind", "log,span", "-f", "message")
	assert.Equal(t, "two\\x1b[2J\n", out)
	_, out, _ = replay("--level", "info", "--kind", "span", "-f", "message")
	assert.Equal(t, "GET /\n", out, "spans are of info")
	_, out, errs = replay("--where", "level >= info or nosuch == 1", "--pid", "812", "-f", "message")
	assert.Equal(t, "one\ntwo\\x1b[2J\n", out)
	assert.NotContains(t, errs, "nosuch", "no record was asked for it")
	_, out, errs = replay("--where", "nosuch == 1")
	assert.Empty(t, out)
	assert.Contains(t, errs, lost+"0 of 3 records selected\n! no record that was asked for nosuch has it\n")
	_, _, errs = replay("--grep", "one")
	assert.Equal(t, lost+"1 of 3 records selected\n", errs)
	_, _, errs = replay("--grep", "one", "-n", "1")
	assert.Equal(t, lost, errs, "whether there are more is not known")
	code, _, errs = replay("--where", "level >= warn and\tlevl == 1 or x")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "uevents: --where: an operator expected: == != < <= > >= ~ =~ & or in; has x selects records that have it\n    level >= warn and levl == 1 or x\n                                    ^\n")
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	code, _, errs = (&feed{}).run(t, "replay", empty)
	assert.Equal(t, 0, code)
	assert.Equal(t, "no records\n", errs)
	_, out, _ = replay("--grep", "one|two", "-n", "1", "-o", "{{.message}}")
	assert.Equal(t, "one\n", out)
	_, again, _ := replay("-o", "json")
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(written), again, "as it was")

	to := filepath.Join(t.TempDir(), "x.pftrace")
	code, out, errs = replay("--to", to)
	assert.Equal(t, 0, code, errs)
	assert.Empty(t, out)
	assert.Regexp(t, "^"+lost+`wrote .*x.pftrace: \d+ B; 2 processes, 2 log records, 1 span; open it at https://ui.perfetto.dev\n$`, errs)
	code, _, errs = replay("--to", to)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "-> choose another name")
	base := filepath.Join(t.TempDir(), "x")
	code, _, errs = replay("--to", base+".otlp.json")
	assert.Equal(t, 0, code, errs)
	assert.FileExists(t, base+".logs.otlp.json")
	code, _, errs = replay("--to", base+".otlp.json")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "x.logs.otlp.json: file already exists")
}

// TestReplayPerfData: what a recording of perf says beside its records is shown, and one malformed record does not end it.
func TestReplayPerfData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.perf.data")
	var recording perfData
	for _, raw := range []string{"\x07\x00\x00\x00\xc8\x00\x00\x00", "\x07\x00", "\x07\x00\x00\x00\xc9\x00\x00\x00"} {
		ev := newRecord("", 0)
		ev.Raw = []byte(raw)
		recording.add(&ev)
	}
	recording.lost(1204, time.Unix(1e9, 5))
	require.NoError(t, os.WriteFile(path, recording.file(), 0o600))
	code, out, errs := (&feed{}).run(t, "replay", path, "-o", "json")
	assert.Equal(t, 0, code, "no part of the file is damaged")
	assert.Equal(t, []string{`{"status":200}`, `{"status":201}`}, regexp.MustCompile(`{"status":.*?}`).FindAllString(out, -1))
	assert.Contains(t, out, `"kind":"lost","event":"user_events:myapp_x","count":1204`)
	assert.Contains(t, errs, "! 1,204 records were lost when it was recorded\n")
	const undecodable = "! 1 records were not as their event's format says: they have no fields\n"
	assert.Contains(t, errs, undecodable)
	assert.Contains(t, out, `"undecodable":"BwA`)

	// JSON lines keep what could not be decoded.
	path = filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(out), 0o600))
	code, again, errs := (&feed{}).run(t, "replay", path, "-o", "json")
	assert.Equal(t, 0, code)
	assert.Equal(t, out, again)
	assert.Contains(t, errs, undecodable)
}

func TestReplayErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("nonsense\n{\"message\":\"one\",\"kind\":\"log\"}\n{\"cut"), 0o600))
	for _, args := range [][]string{
		{}, {"-", path, "-"}, {path, "--since", ""}, {path, "--until", "noon"}, {path, "--level", "loud"}, {path, "--grep", "("}, {path, "-o", "xml"}, {path, "--time", "gps"}, {path, "--to", "x.xml"}, {path, "--to", "x.perf.data"},
	} {
		code, _, errs := (&feed{}).run(t, append([]string{"replay"}, args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s", args, errs)
	}
	code, out, errs := (&feed{}).run(t, "replay", path, "-f", "message")
	assert.Equal(t, exitError, code)
	assert.Equal(t, "one\n", out, "the others are shown")
	assert.Contains(t, errs, "2 records of "+path+" could not be read, the first: line 1: ")
	code, _, _ = (&feed{}).run(t, "replay", filepath.Join(dir, "nosuch"))
	assert.Equal(t, exitError, code)
	require.NoError(t, os.WriteFile(path, []byte("PERFILE2 and nothing else"), 0o600))
	code, _, errs = (&feed{}).run(t, "replay", path)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, path+": no perf.data file that can be read: ")
}

// TestReplayStandardInput: replay reads the output of another command.
func TestReplayStandardInput(t *testing.T) {
	var out, errs syncbuffer.Buffer
	e := (&feed{}).env(t, &out, &errs)
	e.in = strings.NewReader(`{"message":"one","kind":"log"}` + "\n")
	assert.Equal(t, 0, run(t.Context(), e, []string{"replay", "-", "-f", "message"}))
	assert.Equal(t, "one\n", out.String())
}

// TestReplayInterrupted: replay ends while it waits for the program that writes its input.
func TestReplayInterrupted(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close() // ends the read
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var shown, errs syncbuffer.Buffer
	e := (&feed{}).env(t, &shown, &errs)
	e.in = in
	code := make(chan int, 1)
	go func() { code <- run(ctx, e, []string{"replay", "-", "-f", "message"}) }()
	_, err := io.WriteString(out, `{"message":"one","kind":"log"}`+"\n")
	require.NoError(t, err)
	_, err = io.WriteString(out, "") // replay reads again: the record is shown
	require.NoError(t, err)
	cancel()
	assert.Equal(t, 0, <-code, errs.String())
	assert.Equal(t, "one\n", shown.String())
}
