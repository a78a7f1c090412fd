//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// request is a declared record.
type request struct {
	Route  string `uevent:"route"`
	Status uint16 `uevent:"status"`
}

// memoryProgram is a program that logs to shared memory, in the process of the test.
func memoryProgram(t *testing.T, name string) *sloghandler.Handler {
	t.Helper()
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	h, err := sloghandler.New(name, &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// openMemory reads the events of the test's process.
func openMemory(t *testing.T, o reader.Options) (r *reader.Reader, notices func() []reader.Notice) {
	t.Helper()
	var list []reader.Notice
	o.Transport, o.Processes, o.Notify = reader.TransportMemory, []int{os.Getpid()}, func(n reader.Notice) { list = append(list, n) }
	r, err := reader.Open(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	r.SetDeadline(testscale.Deadline())
	return r, func() []reader.Notice { return list }
}

// rest stops a reader and returns the messages that it has not read.
func rest(t *testing.T, r *reader.Reader) (list []string) {
	t.Helper()
	require.NoError(t, r.Stop())
	for ev, err := range r.Events(context.Background()) {
		require.NoError(t, err)
		list = append(list, cmp.Or(ev.Message, ev.Name))
	}
	return list
}

// TestMemoryServiceName: an event in shared memory has the service that its process publishes, also if that happens after the program was
// attached to, or if the program has ended.
func TestMemoryServiceName(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_service"))
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_service_*"}}})
	context, err := processcontext.Publish([]processcontext.Attribute{{Key: "service.name", Value: "shop"}})
	require.NoError(t, err)
	logger.Info("first")
	var first, second record.Record
	require.NoError(t, r.Next(&first))
	assert.Equal(t, "shop", first.Process.ServiceName)

	early, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_service_*"}}})
	logger.Info("second")
	require.NoError(t, context.Close())
	require.NoError(t, r.Next(&second))
	assert.Same(t, first.Process, second.Process)
	require.NoError(t, early.Next(&second))
	assert.Equal(t, "shop", second.Process.ServiceName, "it was read when the program was there")
}

// TestMemory: a record in shared memory has all that one of the kernel has, but a thread and a CPU.
func TestMemory(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_all"))
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_all"}}, Callchain: true, Poll: time.Millisecond})
	assert.True(t, logger.Enabled(t.Context(), slog.LevelDebug))
	before := time.Now()
	logger.Debug("hello", "n", 5)
	logger.Error("failed")
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
	assert.Equal(t, record.SeverityDebug, ev.Severity)
	assert.Equal(t, []record.Field{{Name: "n", Value: record.Int64Value(5)}}, ev.Fields())
	assert.Equal(t, []string{"user_events", "mem_all_debug"}, []string{ev.System, ev.Name})
	assert.EqualValues(t, os.Getpid(), ev.PID)
	assert.Zero(t, ev.TID)
	assert.Equal(t, -1, ev.CPU)
	assert.True(t, strings.HasPrefix(ev.Process.Program(), "reader.test"), ev.Process.Program())
	assert.WithinRange(t, ev.Time, before.Add(-time.Millisecond), time.Now().Add(time.Millisecond))
	assert.NotEmpty(t, ev.Callchain)
	kept := ev.Clone()
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "failed", ev.Message)
	assert.Equal(t, "hello", kept.Message)
	assert.Greater(t, ev.Monotonic, kept.Monotonic)

	late := slog.New(memoryProgram(t, "mem_all_later"))
	logger.Info("last")
	late.Warn("of another event")
	assert.Equal(t, []string{"last", "of another event"}, rest(t, r))
	assert.False(t, logger.Enabled(t.Context(), slog.LevelDebug), "stopped")
	st, err := r.Stats()
	require.NoError(t, err)
	assert.EqualValues(t, 4, st.Selected)
	assert.Equal(t, []uint64{4, 4, 0}, []uint64{st.Total.Matched, st.Total.Read, st.Total.Lost})
	var names []string
	for _, n := range notices() {
		assert.Equal(t, reader.NoticeAttached, n.Kind)
		names = append(names, n.Event)
	}
	assert.Contains(t, names, "user_events:mem_all_later_warn")
}

// TestMemorySelected: levels, patterns, filters and copies are those of the kernel's events.
func TestMemorySelected(t *testing.T) {
	testscale.HostOnly(t)
	h := memoryProgram(t, "mem_sel")
	logger := slog.New(h)
	log := func(r *reader.Reader) []string {
		for _, status := range []int{200, 503} {
			logger.Debug("debug", "status", status)
			logger.Warn("warn", "status", status)
			logger.Log(t.Context(), slog.LevelInfo, "request", "route", "/x", "status", status)
		}
		return rest(t, r)
	}
	for _, c := range []struct {
		name    string
		o       reader.Options
		want    []string
		enabled []bool // of debug, warn
	}{
		{"all", reader.Options{Selection: reader.Selection{Events: []string{"mem_sel"}}}, []string{"debug", "warn", "mem_sel_request", "debug", "warn", "mem_sel_request"}, []bool{true, true}},
		{"level", reader.Options{Selection: reader.Selection{Events: []string{"mem_sel"}, Where: condition("level >= warn"), Excludes: []string{"*_request"}}}, []string{"warn", "warn"}, []bool{false, true}},
		{"one", reader.Options{Selection: reader.Selection{Events: []string{"user_events:mem_sel_debug"}}}, []string{"debug", "debug"}, []bool{true, false}},
		{"glob", reader.Options{Selection: reader.Selection{Events: []string{"mem_*_warn"}}}, []string{"warn", "warn"}, []bool{false, true}},
		{"exclude", reader.Options{Selection: reader.Selection{Events: []string{"mem_sel"}, Excludes: []string{"*_debug", "*_info", "*_request"}}}, []string{"warn", "warn"}, []bool{false, true}},
		{"none", reader.Options{Selection: reader.Selection{Events: []string{"mem_other"}}}, nil, []bool{false, false}},
		{"where", reader.Options{Selection: reader.Selection{Events: []string{"mem_sel"}, Where: condition(`message ~ "w*" && status == 503`)}}, []string{"warn"}, []bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := openMemory(t, c.o)
			assert.Equal(t, c.enabled, []bool{logger.Enabled(t.Context(), slog.LevelDebug), logger.Enabled(t.Context(), slog.LevelWarn)})
			assert.Equal(t, c.want, log(r))
		})
	}
}

// TestMemoryCopies: a declared record decides for its copy, also where the caller decodes records later, and where they are kept.
func TestMemoryCopies(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_cop"))
	for text, want := range map[string][]string{
		"message == request":         {},
		"event == mem_cop_info":      {"mem_cop_info"},
		"message == mem_cop_request": {"mem_cop_request"},
		"status == 200":              {"mem_cop_info", "mem_cop_request"},
	} {
		for way, read := range map[string]func(r *reader.Reader, keep func(*record.Record) error) error{
			"decoded": func(r *reader.Reader, keep func(*record.Record) error) (err error) {
				require.NoError(t, r.Stop())
				for rec, readErr := range r.Events(context.Background()) {
					err = errors.Join(err, readErr, keep(rec))
				}
				return err
			},
			"undecoded": func(r *reader.Reader, keep func(*record.Record) error) (err error) {
				require.NoError(t, r.Stop())
				var u reader.Undecoded
				for rec := new(record.Record); ; {
					raw, err := r.NextUndecoded(&u)
					if errors.Is(err, io.EOF) {
						return nil
					} else if err != nil {
						return err
					}
					if selected, _ := u.Decode(raw, rec); selected {
						_ = keep(rec)
					}
				}
			},
			"snapshot": (*reader.Reader).Snapshot,
		} {
			o := reader.Options{Selection: reader.Selection{Events: []string{"mem_cop"}, Where: condition(text)}}
			if way == "snapshot" {
				o.Read = reader.ReadSnapshot
			}
			r, _ := openMemory(t, o)
			logger.Info("other", "status", 200)
			logger.Info("request", "route", "/x", "status", 200)
			names := []string{}
			require.NoError(t, read(r, func(rec *record.Record) error { names = append(names, rec.Name); return nil }))
			assert.Equal(t, want, names, "%s: %s", text, way)
			require.NoError(t, r.Close())
		}
	}
}

// TestMemoryLosses: records that find no room are counted and reported, for each event.
func TestMemoryLosses(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_loss"))
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_loss"}}, BufferSize: 16 << 10})
	const n = 5000
	for range n {
		logger.Info("some text that takes room in the ring")
		logger.Debug("some text that takes room in the ring")
	}
	read := len(rest(t, r))
	st, err := r.Stats()
	require.NoError(t, err)
	assert.NotZero(t, st.Total.Lost)
	assert.EqualValues(t, 2*n, uint64(read)+st.Total.Lost)
	assert.EqualValues(t, 2*n, st.Total.Matched)
	require.Len(t, st.Events, 5)
	var lost uint64
	for _, n := range notices() {
		if n.Kind == reader.NoticeLost {
			lost += n.Count
			assert.Contains(t, []string{"user_events:mem_loss_info", "user_events:mem_loss_debug"}, n.Event)
		}
	}
	assert.Equal(t, st.Total.Lost, lost)
}

// TestMemoryLossesOfEnded: the losses of programs that have ended have the name of their event, also where another program goes on with it, and
// each is in one notice.
func TestMemoryLossesOfEnded(t *testing.T) {
	testscale.HostOnly(t)
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_ended"}}, BufferSize: 16 << 10, Poll: time.Millisecond})
	const rounds, n = 3, 2000
	has := func(kind reader.NoticeKind, count int) bool {
		for _, n := range notices() {
			if n.Kind == kind && n.Event == "user_events:mem_ended_info" {
				count--
			}
		}
		return count <= 0
	}
	read := 0
	for round := 1; round <= rounds; round++ {
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		require.NoError(t, err)
		h, err := sloghandler.New("mem_ended", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		look := func() { ready(t, r, func(*record.Record) { read++ }) }
		logger := slog.New(h)
		testscale.Eventually(t, func() bool { look(); return logger.Enabled(t.Context(), slog.LevelInfo) }, "the event is not enabled")
		for range n {
			logger.Info("some text that takes room in the ring")
		}
		if round < rounds {
			require.NoError(t, h.Close())
			require.NoError(t, p.Close())
			testscale.Eventually(t, func() bool { look(); return has(reader.NoticeDetached, round) }, "the end is not noticed")
			continue
		}
		r.SetDeadline(testscale.Deadline())
		read += len(rest(t, r))
		require.NoError(t, h.Close())
		require.NoError(t, p.Close())
	}
	var lost uint64
	for _, n := range notices() {
		if n.Kind == reader.NoticeLost {
			assert.Equal(t, "user_events:mem_ended_info", n.Event)
			lost += n.Count
		}
	}
	assert.EqualValues(t, rounds*n, uint64(read)+lost)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, lost, st.Total.Lost)
	assert.EqualValues(t, read, st.Total.Read)
}

// TestMemoryCounts: a reader that only counts needs nobody to call Next.
func TestMemoryCounts(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_count"))
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_count"}}, Read: reader.ReadCounts})
	for _, n := range []int{10, 1000} {
		for range n {
			logger.Info("counted")
		}
		st, err := r.Stats()
		require.NoError(t, err)
		assert.GreaterOrEqual(t, st.Total.Matched, uint64(n))
	}
	st, err := r.Stats()
	require.NoError(t, err)
	assert.EqualValues(t, 1010, st.Total.Matched)
}

// TestMemoryWaits: Next waits until its deadline, a record, Stop, or Close.
func TestMemoryWaits(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_wait"))
	waits := func(r *reader.Reader, want error, end func()) {
		r.SetDeadline(testscale.Deadline())
		var wg sync.WaitGroup
		wg.Go(func() { assert.ErrorIs(t, r.Next(new(record.Record)), want) })
		end()
		wg.Wait()
	}
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_wait"}}})
	r.SetDeadline(time.Now().Add(time.Millisecond))
	require.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
	waits(r, nil, func() { logger.Info("x") })
	waits(r, os.ErrDeadlineExceeded, func() { r.SetDeadline(time.Unix(1, 0)) })
	waits(r, io.EOF, func() { require.NoError(t, r.Stop()) })
	// Another reader, as one that is stopped answers io.EOF until Close begins.
	r, _ = openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_wait"}}})
	waits(r, os.ErrClosed, func() { require.NoError(t, r.Close()) })
}

// TestMemorySnapshot: a window keeps the latest records, also of programs that have ended, and loses count of none.
func TestMemorySnapshot(t *testing.T) {
	testscale.HostOnly(t)
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	h, err := sloghandler.New("mem_snap", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	logger := slog.New(h)
	const buffer = 64 << 10
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_snap"}}, Read: reader.ReadSnapshot, BufferSize: buffer, Poll: time.Millisecond, Callchain: true})
	snapshot := func() (list []string) {
		require.NoError(t, r.Snapshot(func(ev *record.Record) error {
			assert.NotEmpty(t, ev.Callchain)
			assert.NotEmpty(t, ev.Process.Comm)
			list = append(list, ev.Message)
			return nil
		}))
		return list
	}
	law := func() reader.EventStats {
		st, err := r.Stats()
		require.NoError(t, err)
		assert.Equal(t, st.Total.Matched, st.Total.Read+st.Total.Lost+st.Total.Pending+st.Total.Overwritten)
		return st.Total
	}
	logger.Info("first")
	logger.Debug("second")
	assert.Equal(t, []string{"first", "second"}, snapshot())
	assert.Empty(t, snapshot())
	assert.EqualValues(t, 2, law().Read)
	assert.ErrorIs(t, r.Next(new(record.Record)), fs.ErrInvalid)

	written := uint64(2)
	testscale.Eventually(t, func() bool {
		for range 50 {
			logger.Info(strings.Repeat("x", 500))
			written++
		}
		return law().Overwritten > 0
	}, "nothing is overwritten")
	require.NoError(t, h.Close())
	require.NoError(t, p.Close())
	last := snapshot()
	assert.NotEmpty(t, last)
	assert.LessOrEqual(t, 500*len(last), buffer*runtime.NumCPU())
	assert.EqualValues(t, 2+len(last), law().Read)
	assert.Equal(t, written, law().Matched)
	testscale.Eventually(t, func() bool {
		r.CheckNotices()
		st, err := r.Stats()
		require.NoError(t, err)
		return len(st.Events) == 0
	}, "the program has ended")
	assert.Empty(t, snapshot())
	assert.Equal(t, written, law().Matched)

	stream, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_snap"}}})
	assert.ErrorIs(t, stream.Snapshot(func(*record.Record) error { return nil }), fs.ErrInvalid)
}

// TestMemoryOtherLocks: a program that has locked other files, too, is one program.
func TestMemoryOtherLocks(t *testing.T) {
	testscale.HostOnly(t)
	for range 2 {
		f, err := os.CreateTemp(t.TempDir(), "locked")
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	}
	logger := slog.New(memoryProgram(t, "mem_locks"))
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_locks"}}})
	logger.Info("once")
	assert.Equal(t, []string{"once"}, rest(t, r))
}

// TestMemoryNotRead: a reader that leaves records unread for long, and says so with CheckNotices, does not expire: its events stay enabled, so
// that the records that find no room are counted.
func TestMemoryNotRead(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_unread"))
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_unread"}}, BufferSize: 4096})
	expire(t)
	for logger.Enabled(t.Context(), slog.LevelInfo) { // until the program has noticed
		logger.Info("hello")
	}
	testscale.Eventually(t, func() bool {
		r.CheckNotices()
		return logger.Enabled(t.Context(), slog.LevelInfo)
	}, "the reader has expired")
}

// expire makes the sessions of the test's process end, as if their tools had been stopped for long.
func expire(t *testing.T) {
	t.Helper()
	c := control(t)
	for i := range c.Sessions {
		c.Sessions[i].Expires.Store(1)
	}
}

// TestMemoryAttachProcess: a process that was not selected is read when it is asked for, at once. Without reading, there is no wait.
func TestMemoryAttachProcess(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_asked"))
	r, err := reader.Open(&reader.Options{
		Selection: reader.Selection{Events: []string{"mem_asked"}, Processes: []int{1}}, Transport: reader.TransportMemory, Poll: time.Hour,
	})
	require.NoError(t, err)
	r.SetDeadline(testscale.Deadline())
	assert.False(t, logger.Enabled(t.Context(), slog.LevelInfo))
	asked := make(chan struct{})
	go func() {
		r.AttachProcess(os.Getpid())
		logger.Info("found")
		close(asked)
	}()
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "found", ev.Message)
	assert.NotEmpty(t, ev.Process.Program())
	<-asked
	waits := make(chan struct{})
	go func() {
		r.AttachProcess(os.Getpid())
		close(waits)
	}()
	require.NoError(t, r.Stop())
	<-waits
	r.AttachProcess(os.Getpid())
	require.NoError(t, r.Close())
	r.AttachProcess(os.Getpid())
}

// condition parses a condition that is right.
func condition(text string) *where.Condition {
	c, err := where.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}
