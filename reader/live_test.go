package reader

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

type request struct {
	Status uint16 `uevent:"status"`
}

// logger returns a logger of a program, with a declared record.
func (m *machine) logger(p *uevents.Provider, name string) *slog.Logger {
	h, err := sloghandler.New(name, &sloghandler.Options{
		Provider:     p,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("request", nil)},
	})
	require.NoError(m.t, err)
	return slog.New(h)
}

func logAll(l *slog.Logger) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		l.Log(context.Background(), level, "hello")
	}
}

// TestReaderSelects: events are attached by name and level, and records that are not selected are not returned.
func TestReaderSelects(t *testing.T) {
	for _, c := range []struct {
		name     string
		o        Options
		attached []string
		read     []string
		not      uint64
	}{
		{
			"a program",
			Options{Selection: Selection{Events: []string{"myapp"}}},
			[]string{"myapp_debug", "myapp_error", "myapp_info", "myapp_request", "myapp_warn"},
			[]string{"DEBUG hello", "INFO hello", "WARN hello", "ERROR hello"},
			0,
		},
		{
			"a level",
			Options{Selection: Selection{Events: []string{"myapp"}, Where: condition("level >= warn")}},
			[]string{"myapp_error", "myapp_request", "myapp_warn"},
			[]string{"WARN hello", "ERROR hello"},
			0,
		},
		{
			"within a range of levels",
			Options{Selection: Selection{Events: []string{"myapp"}, Where: condition("level >= info2 and tid > 0")}},
			[]string{"myapp_error", "myapp_info", "myapp_request", "myapp_warn"},
			[]string{"WARN hello", "ERROR hello"},
			1,
		},
		{"excludes", Options{Selection: Selection{Events: []string{"*"}, Excludes: []string{"other", "myapp_[^e]*"}}}, []string{"myapp_error"}, []string{"ERROR hello"}, 0},
		{"processes", Options{Selection: Selection{Events: []string{"*_error"}, Where: condition(`program == no or program ~ "my*"`)}}, []string{"myapp_error", "other_error"}, []string{"ERROR hello"}, 0},
		{"other processes", Options{Selection: Selection{Events: []string{"*_error"}, Where: condition("program in (no, sh)")}}, []string{"myapp_error", "other_error"}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			p := m.program()
			l := m.logger(p, "myapp")
			m.logger(p, "other")
			r := m.mustOpen(c.o)
			assert.Equal(t, c.attached, m.attached())
			logAll(l)
			assert.Equal(t, c.read, m.read(r))
			st, err := r.Stats()
			require.NoError(t, err)
			assert.Equal(t, uint64(len(c.read)), st.Selected)
			assert.Equal(t, c.not, st.Unselected)
			assert.Empty(t, m.notices)
		})
	}
}

// TestReaderEvent: an event has its origin, and the bytes of the record.
func TestReaderEvent(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	before := time.Now()
	l.Info("hello", "n", 1)
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
	assert.Equal(t, &record.Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/system.slice/myapp.service", Unit: "myapp.service"}, ev.Process)
	assert.Equal(t, []int32{812, 813}, []int32{ev.PID, ev.TID})
	assert.Equal(t, 1, ev.CPU)
	assert.WithinRange(t, ev.Time, before, time.Now())
	assert.Equal(t, uint64(ev.Time.UnixNano()), ev.Monotonic)
	assert.Contains(t, string(ev.Raw), "hello")
}

// TestReaderCopies: a record that was written to two events is returned once, if both are read.
func TestReaderCopies(t *testing.T) {
	for name, o := range map[string]Options{"both": {}, "the level's": {Selection: Selection{Excludes: []string{"*_request"}}}, "the declared one": {Selection: Selection{Excludes: []string{"*_info"}}}} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			l := m.logger(m.program(), "myapp")
			r := m.mustOpen(o)
			l.Info("request", "status", 200)
			l.Info("hello")
			l.Info("request", "status", 500)
			got := m.read(r)
			requests := 0
			for _, s := range got {
				if s != "INFO hello" {
					requests++
				}
			}
			assert.Equal(t, 2, requests, "%v", got)
			st, err := r.Stats()
			require.NoError(t, err)
			want := uint64(0)
			if name == "both" {
				want = 2
			}
			assert.Equal(t, want, st.Copies)
		})
	}
}

// TestReaderFollows: events that appear later are attached and reported, unless Options.NoFollow is set.
func TestReaderFollows(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp"}}})
	assert.Empty(t, m.attached())
	l := m.logger(m.program(), "myapp")
	m.look()
	assert.Len(t, m.attached(), 5)
	l.Warn("hello")
	assert.Equal(t, []string{"WARN hello"}, m.read(r))
	require.Len(t, m.notices, 5)
	assert.Equal(t, NoticeAttached, m.notices[0].Kind)
	assert.Equal(t, "user_events:myapp_debug", m.notices[0].Event)
	assert.Equal(t, "attached", m.notices[0].Kind.String())
	m.look()
	assert.Len(t, m.attached(), 5)

	m = newMachine(t)
	_, err := m.open(Options{Selection: Selection{Events: []string{"myapp"}}, NoFollow: true})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.EqualError(t, err, "no event matches myapp", "it is no file that does not exist")
	assert.True(t, m.closed)
	m = newMachine(t)
	m.logger(m.program(), "myapp")
	m.mustOpen(Options{Selection: Selection{Events: []string{"myapp"}}, NoFollow: true})
	assert.Len(t, m.attached(), 5)
	assert.Nil(t, m.follow)
}

// TestReaderStoppedWhileAttaching: an event that is not attached because the caller has stopped is no failure.
func TestReaderStoppedWhileAttaching(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp"}}})
	require.NoError(t, r.Stop())
	m.logger(m.program(), "myapp")
	m.look()
	assert.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	assert.Empty(t, m.notices)
}

// TestReaderEndedEvent: an event that disappears before it is attached is ignored.
func TestReaderEndedEvent(t *testing.T) {
	for _, condition := range []*where.Condition{nil, condition("level >= debug")} {
		m := newMachine(t)
		m.logger(m.program(), "myapp")
		m.early = true
		r := m.mustOpen(Options{Selection: Selection{Where: condition}})
		require.NoError(t, os.RemoveAll(filepath.Join(m.tracefs, "events", "user_events", "myapp_info")))
		m.refuse, m.refuseNames = fs.ErrNotExist, "_info"
		m.follow()
		m.read(r)
		assert.Len(t, m.attached(), 4)
		for _, n := range m.notices {
			assert.Equal(t, NoticeAttached, n.Kind)
		}
		m.refuse = nil
		m.refresh()
		assert.NotNil(t, r.match(tracefs.At(m.tracefs).Event("myapp_info")), "the session looks at it again")
	}
}

// TestReaderLimits: later events beyond the limit are reported.
func TestReaderLimits(t *testing.T) {
	m := newMachine(t)
	p := m.program()
	m.logger(p, "myapp")
	r := m.mustOpen(Options{MaxEvents: 6, Selection: Selection{Events: []string{"myapp", "later"}}})
	m.logger(p, "later")
	m.look()
	m.read(r)
	assert.Len(t, m.attached(), 6)
	require.Len(t, m.notices, 5)
	assert.Equal(t, NoticeAttached, m.notices[0].Kind)
	for _, n := range m.notices[1:] {
		assert.ErrorIs(t, n.Err, ErrTooManyEvents)
		assert.Equal(t, NoticeFailed, n.Kind)
	}
}

// TestReaderPartial: as many events are attached as the limits allow. The others are named once, and attached when there is room.
func TestReaderPartial(t *testing.T) {
	for _, c := range []struct {
		o           Options
		descriptors int
		text        string
	}{
		{Options{MaxEvents: 3}, 1000, "too many events: 3 are attached already, without user_events:myapp_"},
		{Options{}, 8, "RLIMIT_NOFILE"},
		{Options{MaxEvents: 4}, 8, "RLIMIT_NOFILE"},
	} {
		m := newMachine(t)
		m.logger(m.program(), "myapp")
		m.stats.Descriptors = c.descriptors
		c.o.Partial, c.o.DetachAtExit = true, true
		r := m.mustOpen(c.o)
		m.read(r)
		require.Len(t, m.attached(), 3)
		require.Len(t, m.notices, 2)
		for _, n := range m.notices {
			assert.Equal(t, NoticeFailed, n.Kind)
			assert.NotContains(t, m.attached(), strings.TrimPrefix(n.Event, "user_events:"))
			require.ErrorIs(t, n.Err, ErrTooManyEvents)
			assert.ErrorContains(t, n.Err, c.text)
		}
		later := m.notices[0].Event
		m.look()
		m.read(r)
		require.Len(t, m.notices, 2, "they are named once")

		r.mu.Lock()
		for name := range r.attached { // one is detached
			delete(r.attached, name)
			break
		}
		r.mu.Unlock()
		m.notices = nil
		m.look()
		m.read(r)
		require.Len(t, m.notices, 1)
		assert.Equal(t, NoticeAttached, m.notices[0].Kind)
		assert.Equal(t, later, m.notices[0].Event)
		assert.Positive(t, m.notices[0].Gap)
	}

	m := newMachine(t)
	m.logger(m.program(), "myapp")
	m.stats.Descriptors = 1
	_, err := m.open(Options{Partial: true})
	assert.ErrorIs(t, err, errno.EMFILE, "none fits")
}

// TestReaderKinds: events of other kinds are not attached, and stay disabled.
func TestReaderKinds(t *testing.T) {
	for want, kinds := range map[int][]record.Kind{6: nil, 5: {record.KindLog}, 1: {record.KindOther, record.KindMetric}, 0: {record.KindSpan}} {
		m := newMachine(t)
		p := m.program()
		m.logger(p, "myapp")
		_, err := p.Register(tracepoint.MustParse("foreign u32 a"), nil)
		require.NoError(t, err)
		r := m.mustOpen(Options{Selection: Selection{Kinds: kinds}})
		assert.Len(t, m.attached(), want, kinds)
		m.logger(p, "later")
		m.look()
		m.read(r)
		assert.Equal(t, slices.Contains(m.attached(), "later_info"), kinds == nil || kinds[0] == record.KindLog)
	}
}

// TestOmittedLimit: names of events that are gone make room for others.
func TestOmittedLimit(t *testing.T) {
	r := &Reader{o: Options{Partial: true}, most: 1, attached: map[string]*event{"a": {}}}
	for i := range maxKinds {
		require.NotNil(t, r.leaveOut(strconv.Itoa(i)))
	}
	require.Nil(t, r.leaveOut("more"))
	assert.True(t, r.isLeftOut("0"))
	for name, l := range r.leftOut {
		if name != "0" {
			l.asked = l.asked.Add(-2 * forgetLeftOut)
			r.leftOut[name] = l
		}
	}
	require.NotNil(t, r.leaveOut("more"))
	assert.Len(t, r.leftOut, 2)
}

// TestReaderRings: errors have rings of their own, unless there are no descriptors for these, or no rings that fill up.
func TestReaderRings(t *testing.T) {
	for _, c := range []struct {
		o           Options
		descriptors int
		want        bool
	}{
		{Options{}, 20, true}, {Options{}, 19, false}, // 9 events, and a ring, on 2 CPUs
		{Options{Read: ReadSnapshot}, 1000, false}, {Options{Read: ReadCounts}, 1000, false},
	} {
		m := newMachine(t)
		p := m.program()
		m.logger(p, "myapp")
		for level := eventheader.LevelError; level <= eventheader.LevelVerbose; level++ {
			d, err := eventheader.Name{Provider: "other", Level: level, Keyword: 2}.Declaration()
			require.NoError(t, err)
			_, err = p.Register(d, nil)
			require.NoError(t, err)
		}
		m.stats.Descriptors = c.descriptors
		m.mustOpen(c.o)
		for _, s := range m.sources {
			want := ""
			if name := s.event.Name(); c.want && (name == "myapp_error" || name == "other_L2K2") {
				want = "errors"
			}
			assert.Equal(t, want, s.o.Ring, "%+v %s", c.o, s.event)
		}
	}
}

// TestHasErrors: names say which events have errors alone.
func TestHasErrors(t *testing.T) {
	for name, want := range map[string]bool{
		"user_events:myapp_error": true, "user_events:myapp_errors": false, "user_events:myapp_warn": false, "sched:sched_error": false,
		"user_events:app_L1K1": true, "user_events:app_L2Kff": true, "user_events:app_L3K1": false, "user_events:app_L5K1Gx": false,
		"user_events_multi:myapp_error.0": true, "user_events_multi:app_L2K1.1f": true, "user_events:myapp_error.0": false,
	} {
		system, name, _ := strings.Cut(name, ":")
		assert.Equal(t, want, hasErrors(system, name), name)
	}
}

// TestReaderGap: a notice says how long an event may have been there before it was attached.
func TestReaderGap(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{})
	m.seen = 201 * time.Millisecond
	_, err := m.program().Register(tracepoint.MustParse("later u8 a"), nil)
	require.NoError(t, err)
	m.look()
	m.read(r)
	require.Len(t, m.notices, 1)
	assert.Equal(t, []any{NoticeAttached, m.seen}, []any{m.notices[0].Kind, m.notices[0].Gap})
}

// TestReaderRefused: an event that cannot be attached is reported. If none can, Open returns an error.
func TestReaderRefused(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	m.refuse, m.refuseNames = errno.EINVAL, "_request"
	r := m.mustOpen(Options{Selection: Selection{Where: condition("level != info2")}})
	assert.Len(t, m.attached(), 4)
	m.read(r)
	require.Len(t, m.notices, 1)
	assert.Equal(t, NoticeFailed, m.notices[0].Kind)
	assert.ErrorIs(t, m.notices[0].Err, errno.EINVAL)
	for _, s := range m.sources {
		assert.False(t, s.o.CountOnly)
	}

	for _, err := range []error{fs.ErrPermission, errno.EINVAL} {
		m = newMachine(t)
		m.logger(m.program(), "myapp")
		m.refuse = err
		_, got := m.open(Options{})
		assert.ErrorIs(t, got, err)
		assert.ErrorContains(t, got, "4 other events cannot be attached either")
		assert.True(t, m.closed)
	}

	// An event with an unknown format is not attached.
	m = newMachine(t)
	l := m.logger(m.program(), "myapp")
	m.early = true
	r = m.mustOpen(Options{})
	m.addEvent("user_events", "myapp_info", "no format")
	m.follow()
	l.Info("hello")
	assert.Empty(t, m.read(r))
	assert.Len(t, m.attached(), 4)
	i := slices.IndexFunc(m.notices, func(n Notice) bool { return n.Event == "user_events:myapp_info" })
	require.GreaterOrEqual(t, i, 0)
	assert.ErrorIs(t, m.notices[i].Err, tracepoint.ErrInvalid)
}

// TestReaderOtherSystems: tracepoints of the kernel are attached by name, or all of one system.
func TestReaderOtherSystems(t *testing.T) {
	const format = "name: %s\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"
	m := newMachine(t)
	m.addEvent("sched", "sched_switch", format)
	m.addEvent("sched", "sched_wakeup", format)
	m.addEvent("sched", "other", format)
	m.mustOpen(Options{Selection: Selection{Events: []string{"sched:sched_*", "sched:sched_switch"}, Excludes: []string{"sched:*_wakeup"}}})
	assert.Equal(t, []string{"sched:sched_switch"}, m.attached())
	assert.Nil(t, m.follow, "they are those of the kernel")
	for _, pattern := range []string{"sched:nosuch", "nosuch:*", "sched:nosuch*"} {
		m = newMachine(t)
		m.addEvent("sched", "sched_switch", format)
		_, err := m.open(Options{Selection: Selection{Events: []string{pattern}}})
		assert.ErrorIs(t, err, fs.ErrNotExist, pattern)
	}
}

// TestReaderDeadlines: Next waits as long as it is told, and looks at the counts meanwhile.
func TestReaderDeadlines(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	synctest.Test(t, func(t *testing.T) { // the events are registered, which no goroutine of a bubble can do
		begin := time.Now()
		r.tickAt = begin.Add(tickInterval)
		r.SetDeadline(begin.Add(20 * time.Millisecond))
		assert.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
		assert.Equal(t, 20*time.Millisecond, time.Since(begin)) //nolint:forbidigo // synctest
		r.SetDeadline(time.Time{})
		m.lost["user_events:myapp_info"] = 1
		time.AfterFunc(tickInterval+300*time.Millisecond, func() { l.Info("hello") }) //nolint:forbidigo // synctest
		require.NoError(t, r.Next(new(record.Record)))
		assert.Len(t, m.notices, 1)
	})
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	assert.ErrorIs(t, r.Next(new(record.Record)), os.ErrClosed)
}

// TestReaderUndecodable: a record that does not fit its format is returned as bytes, and counted.
func TestReaderUndecodable(t *testing.T) {
	m := newMachine(t)
	log := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}}})
	m.queue = append(m.queue, live.Record{Kind: live.Sample, Tag: m.sources[0].o.Tag, Raw: []byte{1, 2, 3}})
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "myapp_info", ev.Name)
	assert.Equal(t, []byte{1, 2, 3}, ev.Raw)
	assert.Empty(t, ev.Fields())
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, uint64(1), st.Undecodable)
	assert.True(t, ev.Undecodable)
	log.Info("another")
	require.NoError(t, r.Next(&ev))
	assert.False(t, ev.Undecodable)
}

// TestReaderEarlyRecord: the first record of an event can be read before the session reports that it is attached.
func TestReaderEarlyRecord(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	m.early = true
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}}})
	_, err := m.Attach("user_events:myapp_info", r.match(tracefs.At(m.tracefs).Event("user_events:myapp_info")))
	require.NoError(t, err)
	l.Info("hello")
	assert.Equal(t, []string{"INFO hello"}, m.read(r))
}

// TestReaderNoticesBounded: the number of undelivered notices is limited.
func TestReaderNoticesBounded(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{})
	for range 2 * maxNotices {
		r.notices.add(Notice{Kind: NoticeFailed, Err: errors.New("x")})
	}
	m.read(r)
	assert.Len(t, m.notices, maxNotices)
	r.o.Notify = nil
	r.notices.add(Notice{Kind: NoticeFailed})
	m.read(r)
	assert.Equal(t, "unknown", NoticeKind(0).String())
}

// TestOpenArguments: invalid arguments are errors on every machine, without a call of the kernel.
func TestOpenArguments(t *testing.T) {
	dir := tracefs.At(t.TempDir())
	all := []string{"*"}
	for _, o := range []Options{
		{Selection: Selection{Events: []string{"["}}},
		{Selection: Selection{Events: all, Excludes: []string{"a/b"}}},
		{Selection: Selection{Events: all}, MaxEvents: -1},
		{Selection: Selection{Events: all}, BufferSize: -1},
		{Selection: Selection{Events: all}, Latency: -1},
		{Selection: Selection{Events: all}, Window: -1},
		{Selection: Selection{Events: all}, Poll: -1},
		{Selection: Selection{Events: all}, Transport: TransportMemory + 1},
		{Selection: Selection{Events: []string{"sched:sched_switch"}}, Transport: TransportMemory},
		{Selection: Selection{Events: []string{"myapp", "sched:sched_switch"}}, Transport: TransportMemory},
		{Selection: Selection{Events: all}, Cgroup: filepath.Join(t.TempDir(), "missing")},
	} {
		_, err := Open(&o)
		assert.ErrorIs(t, err, fs.ErrInvalid, "%+v", o)
	}
	for _, o := range []*Options{nil, {}, {Selection: Selection{Events: []string{}}}} {
		_, err := Open(o)
		assert.ErrorIs(t, err, fs.ErrInvalid)
		assert.ErrorContains(t, err, `a selection has no Events, and "*" selects all user events`)
	}
	_, err := newReader(&Options{Tracefs: dir.Path(), Selection: Selection{Events: all, Processes: []int{5}}}, t.TempDir())
	assert.ErrorIs(t, err, fs.ErrInvalid)
	proc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(proc, "5"), 0o700))
	_, err = newReader(&Options{Tracefs: dir.Path(), Selection: Selection{Events: all, Processes: []int{5}}}, proc)
	assert.NoError(t, err)
}
