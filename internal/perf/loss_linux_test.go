package perf_test

import (
	"io"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/uevents"
)

// TestLost: records that do not fit the rings are counted for each event, even if no record follows.
func TestLost(t *testing.T) {
	fs := kerneltest.Require(t)
	a, b := newEvent(t), newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	srcA, srcB := attach(t, s, a, nil), attach(t, s, b, nil)
	var writtenA, writtenB uint64
	round := func() (lost uint64) {
		for range 100 {
			write(t, a, writtenA, 0)
			write(t, a, writtenA+1, 0)
			write(t, b, writtenB, 1)
			writtenA, writtenB = writtenA+2, writtenB+1
		}
		return statsOf(t, srcA).Lost + statsOf(t, srcB).Lost
	}
	for before, last := uint64(0), false; !last; {
		lost := round()
		last, before = lost == before+300, lost // until the rings of all CPUs are full
	}
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.Equal(t, os.Getpagesize(), stats.BufferSize)
	assert.Equal(t, stats.CPUs, stats.Rings)
	require.Len(t, stats.Sources, 2)
	for i, src := range []*perf.Source{srcA, srcB} {
		st := statsOf(t, src)
		assert.Equal(t, stats.Sources[i], st)
		assert.Equal(t, []uint64{writtenA, writtenB}[i], st.Matched)
		assert.Zero(t, st.Read)
		assert.NotZero(t, st.Pending)
		assert.NotZero(t, st.Lost)
		assert.False(t, st.AtLeast)
		assert.Equal(t, "user_events:"+[]*uevents.Event{a, b}[i].Name(), st.Name)
	}
	got := map[*perf.Source]uint64{}
	for _, r := range flushed(t, s) {
		assert.Less(t, r.seq, []uint64{writtenA - 200, writtenB - 100}[r.writer], "the last ones were lost")
		got[r.source]++
	}
	for i, src := range []*perf.Source{srcA, srcB} {
		st := statsOf(t, src)
		assert.Equal(t, stats.Sources[i].Lost, st.Lost, "it was counted before any record followed")
		assert.Zero(t, st.Pending)
		assert.Equal(t, got[src], st.Read)
	}

	// When the rings have room again, no records are lost.
	lost := statsOf(t, srcA).Lost
	for i := range uint64(10) {
		write(t, a, i, 7)
	}
	assert.Equal(t, uint64(10), statsOf(t, srcA).Pending)
	assert.Len(t, flushed(t, s), 10)
	assert.Equal(t, lost, statsOf(t, srcA).Lost)
	stats, err = s.Stats()
	require.NoError(t, err)
	assert.Zero(t, stats.Malformed)
}

// TestLostBefore6: where the kernel does not count the lost records of an event, they are known when the rest is read.
func TestLostBefore6(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	s.WithoutLostCounts()
	src := attach(t, s, ev, nil)
	stats, err := s.Stats()
	require.NoError(t, err)
	written := uint64(100 * stats.CPUs) // more than fit the rings of all CPUs
	for i := range written {
		write(t, ev, i, 0)
	}
	st := statsOf(t, src)
	assert.True(t, st.AtLeast)
	assert.Equal(t, []uint64{written, 0, written}, []uint64{st.Matched, st.Lost, st.Pending})
	read := uint64(len(flushed(t, s)))
	require.NoError(t, s.Stop())
	require.ErrorIs(t, s.ReadInto(new(perf.Record)), io.EOF)
	st = statsOf(t, src)
	assert.False(t, st.AtLeast)
	assert.Equal(t, []uint64{written, read, written - read, 0}, []uint64{st.Matched, st.Read, st.Lost, st.Pending})
	assert.Positive(t, st.Lost)
}

// TestLostAtFullRate: the equation of the counts holds when writers on all CPUs and the reader run at the same time.
func TestLostAtFullRate(t *testing.T) {
	fs := kerneltest.Require(t)
	const writers, each = 4, 5000
	p := program(t)
	var events []*uevents.Event
	var sources []*perf.Source
	s := open(t, fs, &perf.Options{BufferSize: 1})
	for range writers {
		ev := register(t, p, newName())
		events = append(events, ev)
		sources = append(sources, attach(t, s, ev, nil))
	}
	got := map[sample]int{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for r := (perf.Record{}); s.ReadInto(&r) == nil; {
			got[sampleOf(t, &r)]++
		}
	})
	var writing sync.WaitGroup
	for i, ev := range events {
		writing.Go(func() {
			for n := range uint64(each) {
				write(t, ev, n, uint64(i))
			}
		})
	}
	writing.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	read := map[*perf.Source]uint64{}
	for r, times := range got {
		assert.Equal(t, 1, times, "%+v", r)
		assert.Same(t, sources[r.writer], r.source)
		read[r.source]++
	}
	var lost uint64
	for _, src := range sources {
		st := statsOf(t, src)
		assert.Equal(t, uint64(each), st.Matched)
		assert.Equal(t, read[src], st.Read)
		assert.Zero(t, st.Pending)
		lost += st.Lost
	}
	t.Logf("%d of %d lost", lost, writers*each)
	require.NoError(t, s.Close())
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.Empty(t, stats.Sources)
	total := stats.Total()
	assert.Equal(t, uint64(writers*each), total.Matched, "the counts stay")
	assert.Equal(t, lost, total.Lost)
	assert.Equal(t, total.Matched, total.Read+total.Lost)
}

// TestNotReadBeforeClose: records that Close drops are counted.
func TestNotReadBeforeClose(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, nil)
	write(t, ev, 1, 1)
	assert.Len(t, flushed(t, s), 1)
	write(t, ev, 2, 1)
	require.NoError(t, s.Close())
	st := statsOf(t, src)
	assert.Equal(t, []uint64{2, 1, 1, 0}, []uint64{st.Matched, st.Read, st.Lost, st.Pending})
}

// TestRings: events with a ring of their own do not lose records to others.
func TestRings(t *testing.T) {
	fs := kerneltest.Require(t)
	flood, rare := newEvent(t), newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	floodSrc, rareSrc := attach(t, s, flood, nil), attach(t, s, rare, &perf.AttachOptions{Ring: "rare"})
	for i := range uint64(1000) {
		write(t, flood, i, 0)
	}
	write(t, rare, 1000, 0)
	got := flushed(t, s)
	assert.Equal(t, sample{rareSrc, 1000, 0}, got[len(got)-1])
	assert.NotZero(t, statsOf(t, floodSrc).Lost)
	assert.Zero(t, statsOf(t, rareSrc).Lost)
}
