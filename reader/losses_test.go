package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestReaderLosses: lost records are reported by event, about once a second and at the end.
func TestReaderLosses(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info", "*_warn"}}})
	m.lost["user_events:myapp_warn"] = 5
	m.lost["user_events:myapp_info"] = 3
	l.Info("hello")
	assert.Len(t, m.read(r), 1)
	assert.Empty(t, m.notices, "it is too early")
	r.look(r.tickAt)
	m.read(r)
	require.Len(t, m.notices, 2)
	assert.Equal(t, []any{NoticeLost, "user_events:myapp_info", uint64(3)}, []any{m.notices[0].Kind, m.notices[0].Event, m.notices[0].Count})
	m.lost["user_events:myapp_warn"] = 7
	require.NoError(t, r.Stop())
	r.SetDeadline(time.Time{})
	assert.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	require.Len(t, m.notices, 3)
	assert.Equal(t, uint64(2), m.notices[2].Count)
	m.lost["user_events:myapp_warn"]++ // by a program that was writing when the event was disabled
	assert.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	assert.Len(t, m.notices, 3)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, uint64(10), st.Total.Lost, "the sum of the notices")
}

// TestReaderIdle: while no ring was full, the counts of the events are not read.
func TestReaderIdle(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	tick := func() int {
		r.tickAt = time.Now()
		before := m.counted
		r.CheckNotices()
		return m.counted - before
	}
	assert.Zero(t, tick())
	l.Info("hello")
	assert.Len(t, m.read(r), 1)
	assert.Zero(t, tick())
	m.lost["user_events:myapp_info"] = 3
	assert.Equal(t, 1, tick())
	assert.Len(t, m.notices, 1)
	assert.Zero(t, tick())
}

// TestReaderNoticesWithoutNext: losses and events that appear are reported while records are left unread.
func TestReaderNoticesWithoutNext(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}}})
	l := m.logger(m.program(), "myapp")
	m.look()
	l.Info("unread")
	r.CheckNotices()
	require.Len(t, m.notices, 1)
	assert.Equal(t, NoticeAttached, m.notices[0].Kind)
	m.lost["user_events:myapp_info"] = 3
	r.CheckNotices()
	require.Len(t, m.notices, 1, "it is too early")
	r.tickAt = time.Now()
	r.CheckNotices()
	require.Len(t, m.notices, 2)
	assert.Equal(t, []any{NoticeLost, uint64(3)}, []any{m.notices[1].Kind, m.notices[1].Count})
	assert.Equal(t, []string{"INFO unread"}, m.read(r))
	assert.Len(t, m.notices, 2, "each is reported once")
}

// TestReaderOverload: while records that are not selected come without end, losses are reported, and Next keeps the
// deadline.
func TestReaderOverload(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}, Where: condition(`not (message =~ "^not")`)}})
	for range 1000 {
		l.Info("not selected")
	}
	m.lost["user_events:myapp_info"] = 5
	r.SetDeadline(time.Now().Add(-1))
	r.tickAt = time.Now()
	assert.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
	assert.Less(t, r.unselected.Load(), uint64(1000), "the others are not read")
	require.Len(t, m.notices, 1)
	assert.Equal(t, uint64(5), m.notices[0].Count)

	// The caller has as long as it asks for.
	r.SetDeadline(time.Now().Add(time.Hour))
	r.tickAt = time.Now()
	l.Info("not selected")
	l.Log(context.Background(), slog.LevelInfo+1, "selected")
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "selected", ev.Message)
}

func TestLosses(t *testing.T) {
	stats := func(detached uint64, list ...live.Counts) (iter.Seq[live.Counts], live.Counts) {
		st := live.Stats{Sources: list, Detached: live.Counts{Lost: detached}}
		return slices.Values(list), st.Total()
	}
	a := func(lost uint64) live.Counts { return live.Counts{Name: "a", Lost: lost} }
	var l losses
	assert.Empty(t, l.since(stats(0, a(0))))
	assert.Equal(t, map[string]missing{"a": {lost: 5}}, l.since(stats(0, a(2), a(3))), "an event twice")
	assert.Empty(t, l.since(stats(0, a(2), a(3))))
	assert.Equal(t, map[string]missing{"": {lost: 1}}, l.since(stats(6)), "detached")
	assert.Equal(t, map[string]missing{"a": {lost: 2}}, l.since(stats(6, a(2))), "and attached again")

	// Each record is in one notice only.
	l = losses{}
	assert.Equal(t, map[string]missing{"a": {lost: 5}}, l.since(stats(0, a(5))))
	assert.Equal(t, map[string]missing{"a": {lost: 2}}, l.since(stats(0, a(7))))
	assert.Equal(t, map[string]missing{"": {lost: 1}}, l.since(stats(8)))
}

// TestLossesOfManyEvents: looking at the counts reads each event once.
func TestLossesOfManyEvents(t *testing.T) {
	const events = 500
	read := 0
	var l losses
	more := l.since(func(yield func(live.Counts) bool) {
		for i := range events {
			if read++; !yield(live.Counts{Name: fmt.Sprint(i), Lost: 1}) {
				return
			}
		}
	}, live.Counts{Lost: events})
	assert.Equal(t, events, read)
	assert.Len(t, more, events)
}

// flood logs until the reader has reached its limit and has detached, and returns how many records it has read.
func (m *machine) flood(r *Reader, l *slog.Logger) (read int) {
	m.t.Helper()
	testscale.Eventually(m.t, func() bool {
		l.Info("hello")
		read += len(m.read(r))
		return !l.Enabled(context.Background(), slog.LevelInfo)
	}, "the event stays enabled")
	return read
}

// resumes reads until an event is enabled again.
func (m *machine) resumes(r *Reader, l *slog.Logger) {
	m.t.Helper()
	testscale.Eventually(m.t, func() bool {
		assert.Empty(m.t, m.read(r))
		return l.Enabled(context.Background(), slog.LevelInfo)
	}, "the event stays disabled")
}

// TestReaderLimit: an event that has reached the limit is detached until the next second, and others are not. What was written before
// is read, and no notice says that the event came or went.
func TestReaderLimit(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Limit: 3, Selection: Selection{Excludes: []string{"*_request"}}}) // of which records of any level are

	synctest.Test(t, func(t *testing.T) { // else a second may end before an event that is disabled is seen to be
		read := 0
		for range 2 {
			n := m.flood(r, l)
			read += n
			assert.Greater(t, n, 3)
			l.Info("in no count")
			l.Error("hello")
			assert.Equal(t, []string{"ERROR hello"}, m.read(r))
			m.resumes(r, l)
		}
		assert.Empty(t, m.notices)
		require.NoError(t, r.Stop())
		r.SetDeadline(time.Time{})
		assert.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
		require.Len(t, m.notices, 1)
		n := m.notices[0]
		assert.Equal(t, []any{NoticeLimited, "user_events:myapp_info", uint64(2), 2 * time.Millisecond}, []any{n.Kind, n.Event, n.Count, n.Gap})
		assert.Equal(t, "limited", n.Kind.String())
		st, err := r.Stats()
		require.NoError(t, err)
		assert.EqualValues(t, read+2, st.Selected)
		assert.Equal(t, []any{2 * time.Millisecond, uint64(2)}, []any{st.Total.Limited, st.Total.LimitedTimes})
		i := slices.IndexFunc(st.Events, func(s EventStats) bool { return s.Name == "user_events:myapp_info" })
		assert.Equal(t, []any{2 * time.Millisecond, uint64(2)}, []any{st.Events[i].Limited, st.Events[i].LimitedTimes})
		require.NoError(t, r.Close())
	})
}

// TestReaderLimitEnds: an event whose programs have ended while it was detached has ended, and one that a new program registers is
// attached, whether the reader has noticed the end or not.
func TestReaderLimitEnds(t *testing.T) {
	for name, noticed := range map[string]bool{"noticed": true, "unnoticed": false} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			p := m.kernel.Provider()
			l := m.logger(p, "myapp")
			r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp_info"}}, Limit: 1})
			if !noticed {
				r.resumeAt = time.Now().Add(time.Hour)
			}
			m.flood(r, l)
			require.NoError(t, p.Close())
			if noticed {
				testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) > 0 }, "no notice")
				assert.Equal(t, []any{NoticeDetached, "user_events:myapp_info"}, []any{m.notices[0].Kind, m.notices[0].Event})
				assert.Empty(t, m.attached())
			}
			m.look()
			l = m.logger(m.program(), "myapp")
			m.look()
			testscale.Eventually(t, func() bool { return len(m.attached()) == 1 }, "the old one is attached, or the new one is not")
			l.Info("new")
			assert.Contains(t, m.read(r), "INFO new")
			assert.Equal(t, NoticeAttached, m.notices[len(m.notices)-1].Kind)
			require.NoError(t, r.Close())
		})
	}
}

// TestReaderLimitFails: errors of detaching and of attaching again are reported, and the session may attach to the event again.
func TestReaderLimitFails(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp_info"}}, Limit: 1})
	synctest.Test(t, func(t *testing.T) { // see TestReaderLimit
		m.refusePause = errno.EBADF
		m.flood(r, l)
		m.mu.Lock()
		m.refuse = errno.EMFILE
		m.mu.Unlock()
		testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) == 2 }, "no notice")
		for i, want := range []error{errno.EBADF, errno.EMFILE} {
			assert.Equal(t, NoticeFailed, m.notices[i].Kind)
			assert.ErrorIs(t, m.notices[i].Err, want)
		}
		assert.NotNil(t, r.match(tracefs.At(m.tracefs).Event("myapp_info")))
		require.NoError(t, r.Close())
	})
}

// TestReaderLimitOfOthers: events that no program encodes have no limit.
func TestReaderLimitOfOthers(t *testing.T) {
	m := newMachine(t)
	m.refresh()
	m.addEvent("sched", "sched_switch", "name: sched_switch\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"sched:sched_switch"}}, Limit: 1})
	e := m.sources[0].o.Tag.(*event)
	for range 5 {
		r.limit(e, &live.Record{Kind: live.Sample, Time: time.Now(), Monotonic: 1, Raw: make([]byte, tracepoint.CommonSize+4)}, new(task))
	}
	assert.Equal(t, unlimited, e.limited)
}

// TestReaderLimitOption: a limit is a number of records that are read.
func TestReaderLimitOption(t *testing.T) {
	for _, o := range []Options{
		{Limit: -1},
		{Limit: math.MaxInt},
		{Limit: 1, Read: ReadCounts},
		{Limit: 1, Read: ReadSnapshot},
		{ProgramLimit: ProgramLimit{Records: -1}},
		{ProgramLimit: ProgramLimit{Bytes: -1}},
		{ProgramLimit: ProgramLimit{Bytes: 1}, Read: ReadCounts},
	} {
		_, err := newMachine(t).open(o)
		assert.True(t, errors.Is(err, fs.ErrInvalid), "%+v: %v", o, err)
	}
}

// TestUntilSecond: whatever the age of a record, its second is that of CLOCK_MONOTONIC.
func TestUntilSecond(t *testing.T) {
	for _, age := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
		rec := &live.Record{Time: time.Now().Add(-age), Monotonic: uint64(10*time.Second + 200*time.Millisecond)}
		left := untilSecond(rec)
		assert.Positive(t, left)
		assert.LessOrEqual(t, left, time.Second)
		end := time.Duration(rec.Monotonic) + time.Since(rec.Time) + left //nolint:forbidigo // what is measured
		assert.GreaterOrEqual(t, end, (time.Duration(rec.Monotonic)+age).Truncate(time.Second)+time.Second)
	}
}

// TestReaderShare: of a program above its share, the events are disabled that have more than an equal part of it, and not those of errors
// nor of another program. From then on they have rings of their own.
func TestReaderShare(t *testing.T) {
	for name, share := range map[string]ProgramLimit{"records": {Records: 30}, "bytes": {Bytes: 5000}} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			flood, modest := m.logger(m.program(), "flood"), m.logger(m.program(), "modest")
			r := m.mustOpen(Options{ProgramLimit: share, Selection: Selection{Excludes: []string{"*_request"}}})
			for _, s := range m.sources {
				assert.Equal(t, limitedRing, s.o.PausedRing)
			}
			ctx := context.Background()
			floods := func() bool {
				return flood.Enabled(ctx, slog.LevelInfo) || flood.Enabled(ctx, slog.LevelDebug)
			}
			written, read := 0, 0
			testscale.Eventually(t, func() bool {
				m.pid = 1
				for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
					if flood.Enabled(ctx, level) {
						flood.Log(ctx, level, "hello")
						written++
					}
				}
				read += len(m.read(r))
				return !floods()
			}, "the events stay enabled")
			assert.Equal(t, written, read)
			for range 3 {
				flood.Error("failed")
				assert.Equal(t, []string{"ERROR failed"}, m.read(r))
			}
			m.pid = 2
			modest.Info("hello")
			assert.Equal(t, []string{"INFO hello"}, m.read(r))
			assert.True(t, flood.Enabled(ctx, slog.LevelError) && modest.Enabled(ctx, slog.LevelInfo))
			testscale.Eventually(t, func() bool { m.read(r); return floods() }, "the events stay disabled")
		})
	}
}

// TestProgramLimit: a program in shared memory keeps to the smaller limit.
func TestProgramLimit(t *testing.T) {
	for _, c := range []struct{ limit, share, want int }{{0, 0, 0}, {5, 0, 5}, {0, 7, 7}, {5, 7, 5}, {7, 5, 5}} {
		o := Options{Limit: c.limit, ProgramLimit: ProgramLimit{Records: c.share}}
		assert.Equal(t, c.want, o.programLimit(), c)
		assert.Equal(t, c.want > 0, o.limited(), c)
	}
	assert.True(t, (&Options{ProgramLimit: ProgramLimit{Bytes: 1}}).limited())
}

// TestProgramLimitParts: above ProgramLimit, only events with more than an equal part of the limit are disabled.
func TestProgramLimitParts(t *testing.T) {
	for name, share := range map[string]ProgramLimit{"records": {Records: 30}, "bytes": {Bytes: 120}} {
		t.Run(name, func(t *testing.T) {
			r := &Reader{o: Options{ProgramLimit: share}}
			var paused []string
			named := func(name string) *event { return &event{pause: func() { paused = append(paused, name) }} }
			flood, fair, writer := named("flood"), named("fair"), new(task)
			write := func(s *event, n int, second uint64) {
				for range n {
					r.limit(s, &live.Record{Monotonic: second * uint64(time.Second), Raw: make([]byte, tracepoint.CommonSize+4)}, writer)
				}
			}
			write(flood, 15, 1)
			write(fair, 15, 1)
			assert.Empty(t, paused, "the program has its share")
			write(fair, 1, 2)
			write(flood, 29, 2)
			assert.Empty(t, paused, "so it has in the next second")
			write(flood, 1, 2)
			assert.Equal(t, []string{"flood"}, paused)
			write(fair, 14, 2)
			assert.Equal(t, []string{"flood"}, paused, "the other event has its part")
			write(fair, 1, 2)
			assert.Equal(t, []string{"flood", "fair"}, paused)
			write(flood, 1, 1)
			assert.Len(t, paused, 3, "a record that comes late counts in this second")
			write(flood, 30, 3)
			assert.Len(t, paused, 3, "one event alone has the whole share")
			write(flood, 1, 3)
			assert.Len(t, paused, 4)
		})
	}
}
