package perf

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestPause: a source that is paused has no descriptors, its unread records are returned, and after Resume it goes on, also on a CPU that
// came online.
func TestPause(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, f := k.start(t, nil)
	id, other := f.add("user_events", "ev"), f.add("user_events", "other")
	src := mustAttach(t, s, "ev", &AttachOptions{Ring: "errors"})
	mustAttach(t, s, "other", nil)
	before := len(k.events)
	require.NoError(t, src.Resume(), "it is not paused")
	k.hit(id, 0, 5, "a")
	k.hit(id, 1, 6, "b")
	require.NoError(t, src.Pause())
	require.NoError(t, src.Pause(), "again")
	assert.Len(t, k.events, before-2)
	assert.False(t, s.Overran(), "the pause goes on")
	k.hit(id, 0, 7, "in no count")
	k.hit(other, 0, 8, "c")
	k.cpus = append(k.cpus, cpu{2, 1})
	s.look()
	assert.Equal(t, []string{"a", "b", "c"}, texts(t, s))
	during := statsOf(t, src)
	assert.Equal(t, []uint64{2, 2, 0, 1}, []uint64{during.Matched, during.Read, during.Pending, during.Pauses})
	assert.Positive(t, during.Paused)

	require.NoError(t, src.Resume())
	assert.True(t, s.Overran())
	k.hit(id, 2, 9, "d")
	k.hit(id, 0, 10, "e")
	assert.Equal(t, []string{"d", "e"}, texts(t, s))
	after := statsOf(t, src)
	assert.Equal(t, []uint64{4, 4, 0, 0, 1}, []uint64{after.Matched, after.Read, after.Pending, after.Lost, after.Pauses})
	assert.GreaterOrEqual(t, after.Paused, during.Paused)
	again := statsOf(t, src)
	assert.Equal(t, after, again, "the time of a pause ends with it")

	// Its counts stay when it is detached while it is paused.
	require.NoError(t, src.Pause())
	require.NoError(t, src.Detach())
	require.NoError(t, src.Resume())
	assert.Empty(t, append(texts(t, s), texts(t, s)...))
	stats := MustStats(t, s)
	require.Len(t, stats.Sources, 2)
	assert.Equal(t, uint64(2), stats.Sources[0].Pauses)
	total := stats.Total()
	assert.Equal(t, []uint64{5, 5}, []uint64{total.Matched, total.Read})
}

// TestPausedRing: a source that was paused has rings of its own, which no other fills, where there is the memory for them.
func TestPausedRing(t *testing.T) {
	for name, room := range map[string]int{"own": 0, "no memory": 2 * defaultBufferSize} {
		t.Run(name, func(t *testing.T) {
			k := newFakeKernel(0, 1)
			k.room = room
			s, f := k.start(t, nil)
			id, other := f.add("user_events", "ev"), f.add("user_events", "other")
			src := mustAttach(t, s, "ev", &AttachOptions{PausedRing: "limited"})
			modest := mustAttach(t, s, "other", nil)
			k.hit(id, 0, 1, "a")
			require.NoError(t, src.Pause())
			require.NoError(t, src.Resume())
			flood := uint64(defaultBufferSize / len(sampleBytes(1, 1, 1, 1, "b")))
			for n := range flood + 10 {
				k.hit(id, 0, 2+n, "b")
			}
			k.hit(other, 0, flood+20, "c")
			lost := statsOf(t, modest).Lost
			got := texts(t, s)
			if room == 0 {
				assert.Equal(t, []any{"a", "c", uint64(0), 4}, []any{got[0], got[len(got)-1], lost, MustStats(t, s).Rings})
			} else {
				assert.Equal(t, []any{"a", "b", uint64(1), 2}, []any{got[0], got[len(got)-1], lost, MustStats(t, s).Rings})
			}
			assert.Positive(t, statsOf(t, src).Lost)
			require.NoError(t, src.Pause())
			require.NoError(t, src.Resume(), "again")
		})
	}
}

// TestPausedEventGone: an event whose programs have ended while it was paused is gone, also if there is another one of its name.
func TestPausedEventGone(t *testing.T) {
	const fields = "name: ev\nID: 1\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" +
		"\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n"
	for name, change := range map[string]func(f *fakeTracefs, dir string){
		"removed":      func(_ *fakeTracefs, dir string) { require.NoError(t, os.RemoveAll(dir)) },
		"another id":   func(f *fakeTracefs, _ string) { f.add("user_events", "ev") },
		"other fields": func(_ *fakeTracefs, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "format"))) },
		"the same":     func(*fakeTracefs, string) {},
	} {
		k := newFakeKernel(0)
		s, f := k.start(t, nil)
		f.add("user_events", "ev")
		dir := filepath.Join(f.dir, "events", "user_events", "ev")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "format"), []byte(fields), 0o600))
		src := mustAttach(t, s, "ev", nil)
		require.NoError(t, src.Pause())
		change(f, dir)
		err := src.Resume()
		if name == "the same" {
			require.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, fs.ErrNotExist, name)
		require.NoError(t, src.Detach())
		assert.Empty(t, append(texts(t, s), texts(t, s)...))
		stats := MustStats(t, s)
		total := stats.Total()
		assert.Equal(t, uint64(1), total.Pauses)
	}
}

// TestResumeFails: what was opened is closed again.
func TestResumeFails(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, _, src := k.attach(t, nil)
	require.NoError(t, src.Pause())
	free := s.free
	s.free = 1
	assert.ErrorIs(t, src.Resume(), errno.EMFILE)
	s.free = free
	require.NoError(t, src.Detach())

	src = mustAttach(t, s, "ev", nil)
	require.NoError(t, src.Pause())
	open := len(k.events)
	k.enableFail = syscall.EIO
	assert.ErrorIs(t, src.Resume(), syscall.EIO)
	k.enableFail = nil
	assert.Len(t, k.events, open)
	require.NoError(t, src.Detach())
}

// TestStopWhilePaused: the pause ends with the session.
func TestStopWhilePaused(t *testing.T) {
	k := newFakeKernel(0)
	s, _, src := k.attach(t, nil)
	require.NoError(t, src.Pause())
	require.NoError(t, s.Stop())
	require.NoError(t, src.Resume())
	require.NoError(t, src.Pause())
	first := statsOf(t, src)
	assert.Positive(t, first.Paused)
	assert.Less(t, first.Paused, time.Hour)
	second := statsOf(t, src)
	assert.Equal(t, first, second)
}

// TestConcurrency: all methods run concurrently while CPUs go offline and online. At the end each record is accounted
// for.
func TestConcurrency(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, fs := k.start(t, &Options{BufferSize: 1, Tasks: true})
	id, other := fs.add("user_events", "ev"), fs.add("user_events", "other")
	src := mustAttach(t, s, "ev", nil)
	const each = 2000
	var all sync.WaitGroup
	for cpu := range 2 {
		all.Go(func() {
			for i := range each {
				k.mu.Lock()
				k.mono += 1000
				now := uint64(k.mono)
				k.mu.Unlock()
				k.hit(id, cpu, now, "text")
				if i%3 == 0 {
					k.hit(other, cpu, now, "other")
				}
			}
		})
	}
	for _, f := range []func(){
		func() {
			src, err := s.Attach("other", nil)
			assert.NoError(t, err)
			assert.NoError(t, src.Detach())
		},
		func() {
			_, err := s.Stats()
			assert.NoError(t, err)
		},
		func() { assert.NoError(t, s.Flush()) },
		func() { s.SetDeadline(testscale.Deadline()) },
		func() { s.Look() },
		func() { s.Overran() },
	} {
		all.Go(func() {
			for range 50 {
				f()
			}
		})
	}
	read, last := uint64(0), error(nil)
	var reading sync.WaitGroup
	reading.Go(func() {
		for r := (live.Record{}); last == nil || errors.Is(last, ErrFlushed); {
			if last = s.ReadInto(&r); last == nil && r.Tag == src {
				read++
			}
		}
	})
	all.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	assert.Equal(t, io.EOF, last)
	stats := MustStats(t, s)
	require.NotEmpty(t, stats.Sources)
	st := stats.Sources[0]
	assert.Equal(t, src.String(), st.Name)
	assert.Equal(t, read, st.Read)
	assert.Equal(t, st.Matched, st.Read+st.Lost)
	assert.Zero(t, stats.Malformed)
	total := stats.Total()
	assert.Equal(t, total.Matched, total.Read+total.Lost)
	assert.Zero(t, total.Pending)
}
