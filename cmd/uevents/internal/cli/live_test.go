package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// feed is a reader of records that a test creates.
type feed struct {
	o       *reader.Options
	openErr error

	mu       sync.Mutex
	events   []record.Record
	notices  []reader.Notice
	stats    reader.Stats
	deadline time.Time
	stopped  bool
	closed   bool
	more     func(*feed) // called when all records are read; it may add some, or stop
}

// Next returns records that are ready, and otherwise waits for the deadline.
func (f *feed) Next(ev *record.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for _, n := range f.notices {
			f.o.Notify(n)
		}
		f.notices = nil
		if len(f.events) > 0 {
			*ev = f.events[0]
			f.events = f.events[1:]
			f.stats.Selected++
			return nil
		}
		if f.more != nil {
			more := f.more
			f.more = nil
			more(f)
			continue
		}
		if f.stopped {
			return fmt.Errorf("perf session: %w", io.EOF)
		}
		if !time.Now().Before(f.deadline) {
			return fmt.Errorf("perf session: %w", os.ErrDeadlineExceeded)
		}
		f.mu.Unlock()
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the poll interval
		f.mu.Lock()
	}
}

func (f *feed) SetDeadline(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = t
}

func (f *feed) Stats() (reader.Stats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.stats
	for _, s := range st.Events {
		st.Total.Matched += s.Matched
		st.Total.Read += s.Read
		st.Total.Lost += s.Lost
		st.Total.Pending += s.Pending
	}
	return st, nil
}

func (f *feed) Stop() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	return nil
}

func (f *feed) AttachProcess(int) {}

func (f *feed) Close() error {
	f.closed = true
	return nil
}

// run runs a command line that reads the feed.
func (f *feed) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	return f.runContext(t, t.Context(), args...)
}

func (f *feed) runContext(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs syncbuffer.Buffer
	code = run(ctx, f.env(t, &out, &errs), append([]string{"--tracefs", tracefsOfFiles(t)}, args...))
	assert.Equal(t, f.o != nil, f.closed)
	return code, out.String(), errs.String()
}

// env is the environment of a command that reads the feed.
func (f *feed) env(t *testing.T, out, errs io.Writer) *env {
	t.Helper()
	return &env{
		in: strings.NewReader(""), out: out, err: errs, color: "auto", now: time.Now,
		terminal:   func(any) (terminalSize, bool) { return terminalSize{}, false },
		foreground: func() bool { return false },
		open: func(o *reader.Options) (source, error) {
			if f.openErr != nil {
				return nil, f.openErr
			}
			f.o = o
			return f, nil
		},
	}
}

// stop ends the command like an interrupt, after all records are read.
func stop(f *feed) { f.stopped = true }

func newRecord(message string, severity record.Severity) record.Record {
	return record.Record{
		Time: time.Unix(1e9, 0), System: "user_events", Name: "myapp_info", Kind: record.KindLog, Severity: severity, Message: message,
		PID: 812, Process: &record.Process{Comm: "myapp"},
	}
}

func newFeed(messages ...string) *feed {
	f := &feed{more: stop}
	for _, m := range messages {
		f.events = append(f.events, newRecord(m, record.SeverityInfo))
	}
	f.stats.CPUs, f.stats.Rings = 2, 2
	f.stats.Events = []reader.EventStats{{Name: "user_events:myapp_info", Matched: uint64(len(messages)), Read: uint64(len(messages))}}
	return f
}

func TestWatch(t *testing.T) {
	f := newFeed("one", "two")
	code, out, errs := f.run(t, "watch", "myapp", "--time", "utc")
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "01:46:40.000Z INFO  myapp[812] one\n01:46:40.000Z INFO  myapp[812] two\n", out)
	assert.Regexp(t, `^attached 1 event on 2 CPUs in \d+ ms; Ctrl-C detaches in about 0.1 s\nends after 10m0s, .*\n2 matched = 2 shown; \d+\.\d s\n$`, errs)
	assert.Equal(t, []string{"myapp"}, f.o.Events)
	assert.Equal(t, maxEvents, f.o.MaxEvents)
	assert.Equal(t, 512<<10, f.o.BufferSize)
}

// TestGaps: the summary says what else is not as it should be.
func TestGaps(t *testing.T) {
	for _, args := range [][]string{{"watch", "myapp"}, {"record", "myapp", "-o", filepath.Join(t.TempDir(), "x.jsonl")}} {
		f := newFeed("one")
		f.stats.CPUErr = fmt.Errorf("cpu 3: %w\x1b", syscall.EMFILE)
		f.stats.LostTaskRecords, f.stats.Late = 1200, 2
		code, _, errs := f.run(t, args...)
		assert.Equal(t, 0, code, "%s", args)
		assert.Regexp(t, `(?m)^1 matched = 1 \w+; \d+\.\d s; ! records of a CPU that came online are missing: cpu 3: too many open files\\x1b; `+
			`! lost 1,200 records about processes, whose names can be wrong; 2 records came late, after newer ones$`, errs, "%s", args)
	}
}

// TestGapsOfFlight: as those of watch, and those of the events that trigger.
func TestGapsOfFlight(t *testing.T) {
	var kept, trigger reader.Stats
	assert.Equal(t, "0 matched = 0 read + 0 overwritten + 0 still kept + 0 lost; 0 files", (&pilot{}).summaryLine(&kept, &trigger))
	kept.CPUErr, trigger.CPUErr = syscall.EMFILE, syscall.ENOMEM
	line := (&pilot{files: 1}).summaryLine(&kept, &trigger)
	assert.Contains(t, line, "; 1 file; ! records of a CPU that came online are missing: "+syscall.EMFILE.Error())
	assert.Contains(t, line, "; ! triggers of a CPU that came online are missing: "+syscall.ENOMEM.Error())
}

// TestWatchSelection: flags become options of the reader.
func TestWatchSelection(t *testing.T) {
	f := newFeed()
	cgroup := t.TempDir()
	code, _, errs := f.run(t, "watch", "a", "b_*", "--exclude", "b_x", "--level", "warn2", "--kind", "log,span", "--pid", "1,2", "--program", "x,y*", "--cgroup", cgroup,
		"--where", "a == 1", "-w", "b =~ 'x y' or has c", "--no-follow", "--yes", "--buffer", "2M", "--detach-at-exit")
	require.Equal(t, 0, code, errs)
	assert.Equal(t, `(a == 1) and (b =~ 'x y' or has c) and (kind in (log, span)) and (kind in (log, other) and (level >= warn2 or not has(level))) and ((program == "x") or (program ~ "y*"))`, f.o.Where.String())
	assert.FileExists(t, filepath.Join(f.o.Tracefs, "user_events_status"))
	f.o.Notify, f.o.Where, f.o.Tracefs = nil, nil, ""
	assert.Equal(t, &reader.Options{
		Selection: reader.Selection{Events: []string{"a", "b_*"}, Excludes: []string{"b_x"}, Processes: []int{1, 2}},
		Cgroup:    cgroup, NoFollow: true, BufferSize: 2 << 20, DetachAtExit: true, Reuse: true, Transport: reader.TransportKernel,
	}, f.o)
}

func TestWatchOutput(t *testing.T) {
	_, out, _ := newFeed("one").run(t, "watch", "myapp", "-o", "json", "-f", "message,severity")
	assert.Equal(t, `{"message":"one","severity":"INFO"}`+"\n", out)
	_, out, _ = newFeed("one").run(t, "watch", "myapp", "-o", "{{.message}}!")
	assert.Equal(t, "one!\n", out)
	code, out, errs := newFeed("cache miss", "cache hit", "other").run(t, "watch", "myapp", "--grep", "INFO .*cache (miss|hit)", "-n", "1", "-f", "message")
	assert.Equal(t, 0, code)
	assert.Equal(t, "cache miss\n", out)
	assert.Contains(t, errs, "3 matched = 1 shown + 1 not shown + 1 without a match for --grep; ")
	f := newFeed(make([]string, 50)...)
	late := newRecord("next second", record.SeverityInfo)
	late.Time = late.Time.Add(time.Second)
	f.events = append(f.events, late)
	_, out, errs = f.run(t, "watch", "myapp", "--max-rate", "10", "-f", "message,severity")
	assert.Len(t, strings.Split(out, "\n"), 12)
	assert.Contains(t, errs, "! 40 records not shown: more than 10 a second (--max-rate)\n")
	assert.Contains(t, errs, "= 11 shown + 40 not shown; ")
	_, out, _ = newFeed("one").run(t, "watch", "myapp", "--color", "always")
	assert.Contains(t, out, "\x1b[32mINFO \x1b[0m")
}

// TestWatchRate: a flood of other records hides no warning, error or failed span, which have a limit of their own.
func TestWatchRate(t *testing.T) {
	f := newFeed()
	for range terminalRate + 500 {
		f.events = append(f.events, newRecord("flood", record.SeverityDebug))
	}
	failed := record.Record{Time: f.events[0].Time, System: "user_events", Name: "myapp_span", Kind: record.KindSpan, Message: "failed span", Status: record.StatusError}
	fine := failed
	fine.Message, fine.Status = "fine span", record.StatusOK
	f.events = append(f.events, newRecord("a warning", record.SeverityWarn), failed, fine, newRecord("the error", record.SeverityError))
	for range terminalRate {
		f.events = append(f.events, newRecord("many errors", record.SeverityFatal))
	}
	var out, errs syncbuffer.Buffer
	e := f.env(t, &out, &errs)
	e.terminal = func(any) (terminalSize, bool) { return terminalSize{80, 24}, true }
	require.Equal(t, 0, run(t.Context(), e, []string{"--tracefs", tracefsOfFiles(t), "watch", "myapp"}), &errs)
	for text, count := range map[string]int{
		"flood": terminalRate, "fine span": 0, "a warning": 1, "failed span": 1, "the error": 1, "many errors": terminalRate - 3,
	} {
		assert.Equal(t, count, strings.Count(out.String(), text), text)
	}
	assert.Contains(t, errs.String(), "! 504 records not shown, 3 of them warnings or errors: more than 1,000 a second (--max-rate)\n")
	assert.Contains(t, errs.String(), "= 2,000 shown + 504 not shown; ")
}

// TestWatchInterrupted: after an interrupt, the records written before are shown.
func TestWatchInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFeed("before")
		f.more = func(f *feed) {
			cancel()
			f.mu.Unlock()
			synctest.Wait()
			f.mu.Lock()
			assert.True(t, f.stopped)
			f.events = append(f.events, newRecord("after", record.SeverityInfo))
		}
		code, out, _ := f.runContext(t, ctx, "watch", "myapp", "-f", "message")
		assert.Equal(t, 0, code)
		assert.Equal(t, "before\nafter\n", out)
	})
}

// TestWatchDuration: a command that no terminal shows ends, and says so when it starts.
func TestWatchDuration(t *testing.T) {
	long := time.Duration(testscale.Count(5, 1)) * time.Hour
	for _, c := range []struct {
		output, messages bool // to a terminal
		args             []string
		want             time.Duration
	}{
		{false, false, nil, withoutTerminal},
		{false, false, []string{"--duration", "3s"}, 3 * time.Second},
		{false, false, []string{"--duration", "0"}, long},
		{false, true, nil, long}, // watch | tee
		{true, false, nil, long},
		{true, true, nil, long},
		{true, true, []string{"--duration", "3s"}, 3 * time.Second},
	} {
		for _, command := range [][]string{{"watch", "myapp"}, {"top"}} {
			synctest.Test(t, func(t *testing.T) {
				f := newFeed()
				f.more = nil
				ctx, cancel := context.WithTimeout(t.Context(), long) //nolint:forbidigo // in a synctest bubble
				defer cancel()
				var errs syncbuffer.Buffer
				e := f.env(t, io.Discard, &errs)
				e.terminal = func(stream any) (terminalSize, bool) {
					return terminalSize{80, 24}, stream == io.Discard && c.output || stream == &errs && c.messages
				}
				began, atStart := time.Now(), ""
				time.AfterFunc(time.Second, func() { atStart = errs.String() }) //nolint:forbidigo // in a synctest bubble
				assert.Equal(t, 0, run(ctx, e, append(append([]string{"--tracefs", tracefsOfFiles(t)}, command...), c.args...)), &errs)
				assert.InDelta(t, c.want.Seconds(), time.Since(began).Seconds(), 0.1) //nolint:forbidigo // in a synctest bubble
				synctest.Wait()
				const reason = " after 10m0s, as no terminal shows it; --duration 0 lets it go on\n"
				assert.Equal(t, c.want == withoutTerminal, strings.Contains(atStart, "ends"+reason), atStart)
				assert.Equal(t, c.want == withoutTerminal, strings.Contains(errs.String(), "! ended"+reason), &errs)
			})
		}
	}
}

// TestWatchNotices: standard error has short lines about attached and ended events and losses.
func TestWatchNotices(t *testing.T) {
	f := newFeed("one")
	notice := func(kind reader.NoticeKind, event string, count uint64, err error) {
		f.notices = append(f.notices, reader.Notice{Kind: kind, Event: event, Count: count, Err: err, Time: time.Unix(1, 0)})
	}
	notice(reader.NoticeAttached, "user_events:myapp_a", 0, nil)
	notice(reader.NoticeAttached, "user_events:myapp_b", 0, nil)
	f.notices[0].Gap, f.notices[1].Gap = 201*time.Millisecond, 100*time.Millisecond
	for _, name := range []string{"a", "b", "c\x1b", "d"} {
		notice(reader.NoticeNoWriter, "user_events:myapp_"+name, 0, nil)
	}
	notice(reader.NoticeDetached, "user_events_multi:myapp_x.0", 0, nil)
	for i := range 20 {
		notice(reader.NoticeFailed, "x", 0, fmt.Errorf("attaching to event x%d: no\nnewline", i))
	}
	notice(reader.NoticeLost, "user_events:myapp_a", 1000, nil)
	notice(reader.NoticeLost, "user_events:myapp_b", 204, nil)
	f.stats.Events[0].Matched, f.stats.Events[0].Lost = 1205, 1204
	f.stats.BufferSize = 4096
	f.stats.Undecodable = 1
	code, out, errs := f.run(t, "watch", "myapp", "--strict", "-o", "json")
	assert.Equal(t, exitLost, code)
	for _, want := range []string{
		"+ attached myapp_a, myapp_b, registered in the last 0.3 s\n", "- the programs that wrote myapp_a, myapp_b and 2 more have exited\n  while attached, ", "- detached user_events_multi:myapp_x.0: ",
		`! attaching to event x0: no\nnewline` + "\n", "! more events cannot be attached\n",
		"! 1,000 records of myapp_a and 204 of myapp_b lost (ring full): --buffer 2M\n", "! rings have 4 KiB: ",
		"1,205 matched = 1 shown + 1,204 lost; ", "! 1 records were not as their event's format says",
	} {
		assert.Contains(t, errs, want)
	}
	assert.NotContains(t, errs, "event x10")
	assert.NotContains(t, errs, "\x1b")
	assert.Contains(t, out, `"kind":"lost","event":"user_events:myapp_a","count":1000}`)

	f = newFeed()
	f.stats.Events = nil
	_, _, errs = f.run(t, "watch", "myapp")
	assert.Regexp(t, "^"+inNamespace+`no event matches yet \(see uevents list(; programs of other users take root)?\), waiting for one; Ctrl-C ends\nends after 10m0s, .*\n0 matched = 0 shown; `, errs)
}

// TestWatchRefused: events that are refused for one reason, such as a filter on a field that they lack, share a line.
func TestWatchRefused(t *testing.T) {
	f := newFeed("one")
	for _, name := range []string{"a", "b", "c\x1b", "d"} {
		f.notices = append(f.notices, reader.Notice{
			Kind: reader.NoticeFailed, Event: "user_events:myapp_" + name,
			Err: fmt.Errorf("attaching to event user_events:myapp_%s: filter %q: Field not found", name, "status > 1"),
		})
	}
	f.notices = append(f.notices, reader.Notice{Kind: reader.NoticeFailed, Event: "user_events:x", Err: errors.New("x\x1b")})
	for _, name := range []string{"e", "f", "g", "h"} {
		f.notices = append(f.notices, reader.Notice{
			Kind: reader.NoticeFailed, Event: "user_events:" + name,
			Err: fmt.Errorf("%w: 200 are attached already, without user_events:%s", reader.ErrTooManyEvents, name),
		})
	}
	_, _, errs := f.run(t, "watch", "myapp")
	assert.Contains(t, errs, "! too many events: 200 are attached already, without e, f and 2 more; --yes attaches to all\n")
	assert.Contains(t, errs, "! attaching to event myapp_a, myapp_b and 2 more: filter \"status > 1\": Field not found\n! x\\x1b\n")
}

// TestLargerBuffer: what is suggested against losses is a size that --buffer takes.
func TestLargerBuffer(t *testing.T) {
	for buffer, want := range map[string]string{
		"512K": "--buffer 2M", "4K": "--buffer 2M", "2M": "--buffer 8M", "256M": "--buffer 1024M", "300M": "--buffer 1024M", "1023M": "--buffer 1024M", "1G": "select fewer records",
	} {
		size, err := output.ParseSize(buffer)
		require.NoError(t, err)
		var b bytes.Buffer
		n := notes{w: &b, buffer: size}
		n.notice(reader.Notice{Kind: reader.NoticeLost, Event: "x", Count: 1})
		n.flush()
		assert.Equal(t, "! 1 records of x lost (ring full): "+want+"\n", b.String(), buffer)
		if larger, ok := strings.CutPrefix(want, "--buffer "); ok {
			_, err := output.ParseSize(larger)
			assert.NoError(t, err)
		}
	}
}

// TestWatchAll: a flag that selects records needs no pattern. One with an empty value, such as of a variable that is not set, would select all.
func TestWatchAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	for _, command := range [][]string{{"watch"}, {"record", "-o", file}} {
		for flag, value := range map[string]string{
			"unit": "myapp", "where": "status == 500", "level": "warn", "kind": "log", "program": "x", "pid": "812", "cgroup": t.TempDir(),
		} {
			f := newFeed("one")
			code, _, errs := f.run(t, append(command, "--"+flag, value)...)
			assert.Equal(t, 0, code, errs)
			if assert.NotNil(t, f.o) {
				assert.Equal(t, []string{"*"}, f.o.Events)
				assert.Equal(t, maxEvents, f.o.MaxEvents)
			}
		}
		code, _, errs := newFeed().run(t, command...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, "uevents: PATTERN or a flag that selects records, such as --unit, is missing: uevents "+command[0]+" [PATTERN...] ")
	}
	for _, command := range [][]string{{"watch", "a"}, {"watch"}, {"record", "a", "-o", file}, {"flight", "a"}, {"top"}, {"replay", "x.jsonl"}} {
		for _, flag := range []string{"--unit", "--where", "--level", "--kind", "--program", "--container", "--pod", "--cgroup", "--trigger"} {
			if command[0] == "replay" && flag == "--cgroup" || command[0] != "flight" && flag == "--trigger" {
				continue
			}
			for _, value := range []string{"", " "} {
				code, _, errs := newFeed().run(t, append(command, flag, value)...)
				assert.Equal(t, exitUsage, code, "%s %s", command, flag)
				assert.Contains(t, errs, "uevents: "+flag+" has an empty value\n", "%s", command)
			}
		}
	}
	code, _, errs := newFeed().run(t, "watch", "--program", "a,,b")
	assert.Equal(t, exitUsage, code, errs)
	f := newFeed("one")
	code, out, errs := f.run(t, "watch", "--kind", "LOG, span start,Span_Start", "-f", "message, severity")
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "kind in (log, span_start, span_start)", f.o.Where.String())
	assert.Equal(t, "one INFO\n", out)
}

// TestLostByEvent: losses are counted by event, those of warnings and errors first, and the suggested size follows their number.
func TestLostByEvent(t *testing.T) {
	for want, lost := range map[string]map[string]uint64{
		"3 records of burst_error and 56,793 of burst_debug lost (ring full): --buffer 8M, or --level warn": {"burst_debug": 56_793, "burst_error": 3},
		"1 records of x_L3K1, 7 of a and 9 of 3 more events lost (ring full): --buffer 2M, or --level warn": {"x_L3K1": 1, "a": 7, "b": 6, "c_L5K1": 2, "": 1},
		"5 records of a_request, 4 of b and 3 of others lost (ring full): --buffer 2M":                      {"a_request": 5, "b": 4, "": 3},
		"9 records lost (ring full): --buffer 2M":                                                           {"": 9},
		"9,000,000,000 records of a_info lost (ring full): --buffer 64M":                                    {"a_info": 9_000_000_000},
	} {
		var b bytes.Buffer
		n := notes{w: &b, buffer: 512 << 10}
		for name, count := range lost {
			n.notice(reader.Notice{Kind: reader.NoticeLost, Event: name, Count: count})
		}
		n.flush()
		assert.Equal(t, "! "+want+"\n", b.String())
	}
	var b bytes.Buffer
	n := notes{w: &b, buffer: 64 << 20}
	n.smaller(&reader.Stats{Events: make([]reader.EventStats, 1)})
	n.notice(reader.Notice{Kind: reader.NoticeLost, Event: "a", Count: 1})
	n.flush()
	assert.Equal(t, "! 1 records of a lost (ring full): select fewer records\n", b.String(), "shared memory has no larger rings")
}

// TestWatchOverload: losses are reported while records come faster than they are shown, so that Next never has to wait.
func TestWatchOverload(t *testing.T) {
	f := newFeed(make([]string, 100_000)...)
	f.notices = []reader.Notice{{Kind: reader.NoticeLost, Event: "user_events:myapp_info", Count: 7}}
	var errs syncbuffer.Buffer
	meanwhile := ""
	f.more = func(f *feed) {
		meanwhile = errs.String()
		stop(f)
	}
	e := f.env(t, io.Discard, &errs)
	now := time.Unix(1e9, 0)
	e.now = func() time.Time {
		now = now.Add(10 * time.Millisecond)
		return now
	}
	assert.Equal(t, 0, run(t.Context(), e, []string{"--tracefs", tracefsOfFiles(t), "watch", "myapp"}), &errs)
	assert.Contains(t, meanwhile, "! 7 records of myapp_info lost")
}

// TestWatchErrors: errors have an exit code, and say what to do.
func TestWatchErrors(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"a", "--level", "loud"},
		{"a", "--buffer", "5T"},
		{"a", "--buffer", "0"},
		{"a", "--buffer", "2G"},
		{"a", "-o", "xml"},
		{"a", "--time", "gps"},
		{"a", "--grep", "("},
		{"a", "-o", "{{"},
		{"a", "--max-rate", "-1"},
		{"a", "--duration", "-1s"},
		{"a", "--nosuch"},
	} {
		f := newFeed()
		code, _, errs := f.run(t, append([]string{"watch"}, args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s", args, errs)
	}
	for _, args := range [][]string{{"--interval", "0s"}, {"--rows", "-1"}, {"--duration", "-1s"}, {"-o", "xml"}, {"--by", "field"}} {
		code, _, _ := newFeed().run(t, append([]string{"top"}, args...)...)
		assert.Equal(t, exitUsage, code, "%v", args)
	}
	for want, err := range map[int]error{
		exitNotPermitted: os.ErrPermission, exitNotSupported: errors.ErrUnsupported, exitError: fmt.Errorf("201 events: %w", reader.ErrTooManyEvents),
	} {
		for _, command := range []string{"watch", "top"} {
			f := newFeed()
			f.openErr = err
			code, _, errs := f.run(t, command, "a")
			assert.Equal(t, want, code)
			if errors.Is(err, reader.ErrTooManyEvents) {
				assert.Contains(t, errs, "-> select fewer by a pattern, or give --yes\n")
			}
		}
	}
	code, _, errs := newFeed().run(t, "watch", "a", "--cgroup", "/nosuch")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "/sys/fs/cgroup/nosuch")
}
