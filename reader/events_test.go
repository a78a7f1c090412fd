package reader

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// messagesOf returns the messages of events that were kept.
func messagesOf(kept []*Event) (messages []string) {
	for _, ev := range kept {
		messages = append(messages, ev.Message)
	}
	return messages
}

// TestEvents: the loop has each record in an event of its own, and ends after Stop, and after Close, without an error.
func TestEvents(t *testing.T) {
	for name, end := range map[string]func(*Reader) error{"Stop": (*Reader).Stop, "Close": (*Reader).Close} {
		m := newMachine(t)
		l := m.logger(m.program(), "myapp")
		r := m.mustOpen(Options{})
		for _, message := range []string{"one", "two", "three"} {
			l.Info(message, "key", message)
		}
		var kept []*Event
		for ev, err := range r.Events(t.Context()) {
			require.NoError(t, err)
			if kept = append(kept, ev); len(kept) == 3 {
				require.NoError(t, end(r))
			}
		}
		assert.Equal(t, []string{"one", "two", "three"}, messagesOf(kept), name)
		for i, ev := range kept {
			assert.Equal(t, []uint64{uint64(i + 1)}, ev.Callchain)
			v, _ := ev.Lookup("key")
			assert.Equal(t, ev.Message, v.Text())
			assert.Contains(t, string(ev.Raw), ev.Message)
			assert.Equal(t, "myapp", ev.Process.Comm)
		}
	}
}

// TestEventsReuse: with reuse there is one event, and a clone of it stays as it is.
func TestEventsReuse(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Decode: DecodeOptions{Reuse: true}})
	l.Info("one")
	l.Info("two")
	require.NoError(t, r.Stop())
	var events, clones []*Event
	for ev, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		events, clones = append(events, ev), append(clones, ev.Clone())
	}
	require.Len(t, events, 2)
	assert.Same(t, events[0], events[1])
	assert.Equal(t, []string{"one", "two"}, messagesOf(clones))
}

// TestEventsContext: the loop ends when its context is done, before it or while it waits, and the next one has what is left.
func TestEventsContext(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Info("one")
	l.Info("two")
	l.Info("three")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.Events(done) {
		t.Error("the context is done", err)
	}
	var kept []*Event
	ctx, cancel := context.WithCancel(t.Context())
	for ev, err := range r.Events(ctx) {
		require.NoError(t, err)
		kept = append(kept, ev)
		cancel()
	}
	for ev, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		kept = append(kept, ev)
		break
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range r.Events(ctx) { // waits for more
		require.NoError(t, err)
		kept = append(kept, ev)
		go cancel()
	}
	assert.Equal(t, []string{"one", "two", "three"}, messagesOf(kept))

	// Next waits as before.
	r.SetDeadline(time.Now().Add(time.Hour))
	m.mu.Lock()
	assert.False(t, m.deadline.Before(time.Now()))
	m.mu.Unlock()
	l.Info("four")
	var ev Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "four", ev.Message)
}

// TestEventsContextOfUnselected: the end of the context does not wait for a selected record.
func TestEventsContextOfUnselected(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Where: where(`not (message =~ "^not")`)})
	for range 100 {
		l.Info("not selected")
	}
	r.interrupt(true)
	assert.ErrorIs(t, r.Next(new(Event)), os.ErrDeadlineExceeded)
	assert.Equal(t, uint64(1), r.unselected.Load())
}

// TestEventsError: an error is the last element.
func TestEventsError(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{})
	r.SetDeadline(time.Now().Add(-1))
	n := 0
	for ev, err := range r.Events(t.Context()) {
		assert.Nil(t, ev)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		n++
	}
	assert.Equal(t, 1, n)
}

// TestEventsConcurrent: contexts, deadlines, Stop and Close may come at any moment, and kept events may be read.
func TestEventsConcurrent(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	var kept sync.WaitGroup
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		l.Info("hello")
		for ev, err := range r.Events(ctx) {
			require.NoError(t, err)
			kept.Go(func() {
				assert.Equal(t, "hello", ev.Clone().Message)
				cancel()
				r.SetDeadline(time.Time{})
			})
		}
		cancel()
	}
	go func() { assert.NoError(t, r.Stop()) }()
	go func() { assert.NoError(t, r.Close()) }()
	for _, err := range r.Events(t.Context()) {
		require.NoError(t, err)
	}
	kept.Wait()
}
