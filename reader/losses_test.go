package reader

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/perf"
)

// TestReaderLosses: lost records are reported by event, about once a second and at the end.
func TestReaderLosses(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Events: []string{"*_info", "*_warn"}})
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
	assert.ErrorIs(t, r.Next(new(Event)), io.EOF)
	require.Len(t, m.notices, 3)
	assert.Equal(t, uint64(2), m.notices[2].Count)
	assert.ErrorIs(t, r.Next(new(Event)), io.EOF)
	assert.Len(t, m.notices, 3)
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
	r := m.mustOpen(Options{Events: []string{"*_info"}})
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

// TestReaderPlain: events are returned without their meaning, and are selected by it: of a declared record and its copy, the first decides.
func TestReaderPlain(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Decode: DecodeOptions{Mode: DecodePlain}, Where: where(`not (message =~ "^by")`)})
	l.Info("request", "status", 200)
	assert.Equal(t, []string{"UNDEFINED"}, m.read(r), "without severity and message")
	l.Info("bye")
	l.Info("hello")
	var ev Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, KindOther, ev.Kind)
	message, _ := ev.Lookup("message")
	assert.Equal(t, "hello", message.Text())
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, []uint64{2, 1, 1}, []uint64{st.Selected, st.Unselected, st.Copies})
}

// TestReaderOverload: while records that are not selected come without end, losses are reported, and Next keeps the
// deadline.
func TestReaderOverload(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Events: []string{"*_info"}, Where: where(`not (message =~ "^not")`)})
	for range 1000 {
		l.Info("not selected")
	}
	m.lost["user_events:myapp_info"] = 5
	r.SetDeadline(time.Now().Add(-1))
	r.tickAt = time.Now()
	assert.ErrorIs(t, r.Next(new(Event)), os.ErrDeadlineExceeded)
	assert.Less(t, r.unselected.Load(), uint64(1000), "the others are not read")
	require.Len(t, m.notices, 1)
	assert.Equal(t, uint64(5), m.notices[0].Count)

	// The caller has as long as it asks for.
	r.SetDeadline(time.Now().Add(time.Hour))
	r.tickAt = time.Now()
	l.Info("not selected")
	l.Log(context.Background(), slog.LevelInfo+1, "selected")
	var ev Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "selected", ev.Message)
}

func TestLosses(t *testing.T) {
	stats := func(detached uint64, list ...perf.SourceStats) (iter.Seq[perf.SourceStats], perf.SourceStats) {
		st := perf.Stats{Sources: list, Detached: perf.SourceStats{Lost: detached}}
		return slices.Values(list), st.Total()
	}
	a := func(lost uint64) perf.SourceStats { return perf.SourceStats{Name: "a", Lost: lost} }
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

// TestForgetSources: sources are dropped once they are detached and completely read, which only their number tells.
func TestForgetSources(t *testing.T) {
	unread, live, other := &source{name: "a", gone: true}, &source{name: "a"}, &source{name: "b", gone: true}
	r := &Reader{sources: map[*perf.Source]*source{{}: unread}}
	add := func(s *source) { r.sources[new(perf.Source)] = s }
	left := func(names ...string) (list []*source) {
		var st perf.Stats
		for _, name := range names {
			st.Sources = append(st.Sources, perf.SourceStats{Name: name})
		}
		r.forgetSources(&st)
		for _, s := range r.sources {
			list = append(list, s)
		}
		return list
	}
	add(live)
	add(other)
	assert.ElementsMatch(t, []*source{unread, live, other}, left("a", "a", "b"))
	assert.ElementsMatch(t, []*source{unread, live}, left("a", "a"))
	assert.ElementsMatch(t, []*source{live}, left("a"))
	assert.ElementsMatch(t, []*source{live}, left(), "it is attached")
	add(&source{name: "a", gone: true})
	add(&source{name: "a", gone: true})
	assert.Len(t, left("a", "a"), 2, "one of the two has unread records")
}

// TestLossesOfManyEvents: looking at the counts reads each event once.
func TestLossesOfManyEvents(t *testing.T) {
	const events = 500
	read := 0
	var l losses
	more := l.since(func(yield func(perf.SourceStats) bool) {
		for i := range events {
			if read++; !yield(perf.SourceStats{Name: fmt.Sprint(i), Lost: 1}) {
				return
			}
		}
	}, perf.SourceStats{Lost: events})
	assert.Equal(t, events, read)
	assert.Len(t, more, events)
}
