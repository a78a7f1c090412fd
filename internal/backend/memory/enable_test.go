//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestEnabledMeanwhile: when the program disables an event while a tool enables it, the event is enabled. The two meet seldom: a run
// finds a mistake in one of many.
func TestEnabledMeanwhile(t *testing.T) {
	f, err := Open("")
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	word, err := f.NewWord()
	require.NoError(t, err)
	defer f.FreeWord(word)
	_, err = f.Register(backend.Request{Command: "ue_meanwhile", Word: word})
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Unregister(word, 0)) }()
	p := process()
	event := p.events.Events()[0]
	requests := event.State.requests

	var passes atomic.Uint64
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			p.disable(event)
			passes.Add(1)
		}
	}()
	lost := 0
	for range rounds(testscale.CountConcurrent(20_000, 1_000)) {
		requests.Or(1) // as a tool does
		word.Or(1)
		for seen := passes.Load(); passes.Load() < seen+2; { // until a pass that begins now has ended
		}
		if word.Load()&1 == 0 {
			lost++
		}
		requests.And(0)
	}
	stop.Store(true)
	<-done
	assert.Zero(t, lost, "times that the event was not enabled")
}

// rounds counts to n, for two seconds at most. It is for two goroutines that wait for each other, of which one does not yield: they would not meet
// otherwise. If there is no processor for each, a round takes as long as the scheduler lets one of them run.
func rounds(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := range n {
			if time.Since(began) > 2*time.Second || !yield(i) { //nolint:forbidigo // a slow machine makes fewer rounds
				return
			}
		}
	}
}

// TestRefusedKilled: the program disables the events of a tool that was killed, and whose rings it had refused.
func TestRefusedKilled(t *testing.T) {
	f, err := Open("")
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	word, err := f.NewWord()
	require.NoError(t, err)
	defer f.FreeWord(word)
	e, err := f.Register(backend.Request{Command: "ue_refused", Word: word})
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Unregister(word, 0)) }()

	control := process().files.control // what a tool wrote, whose lock is gone
	control.Sessions[0].RingSize.Store(1000)
	control.Sessions[0].Generation.Add(1)
	id := process().events.Events()[0].State.id
	control.Requests[id].Or(1)
	word.Or(1)
	record := make([]byte, 4)
	record[0] = byte(e.Index)
	testscale.Eventually(t, func() bool {
		_ = f.Write(record)
		return word.Load() == 0
	}, "the event of a tool that is gone stays enabled")
}
