//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"encoding/binary"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestTextIsFull: the declarations of all events fill the room for them to the last byte. Then there is an error.
func TestTextIsFull(t *testing.T) {
	s := openSubject(t)
	defer s.close(t)
	p := process()
	p.events.Lock()
	defer p.events.Unlock()
	for n, length := range []int{1000, layout.Text - int(p.text) - 1001, 2, 1, 1} {
		_, err := p.add(strings.Repeat("x", length))
		if n == 2 || n == 4 {
			require.ErrorIs(t, err, syscall.EMFILE)
		} else {
			require.NoError(t, err)
		}
	}
	assert.EqualValues(t, layout.Text, p.text)
	assert.Equal(t, p.count, p.files.data.Count.Load())
}

// TestWordsAreOut: a program has so many enable words, and one more when it has freed one.
func TestWordsAreOut(t *testing.T) {
	s := openSubject(t)
	defer s.close(t)
	var all []*atomic.Uintptr
	for range layout.Words - 1 { // the subject has one
		w, err := s.f.NewWord()
		require.NoError(t, err)
		all = append(all, w)
	}
	_, err := s.f.NewWord()
	require.ErrorIs(t, err, syscall.ENOMEM)
	s.f.FreeWord(all[5])
	w, err := s.f.NewWord()
	require.NoError(t, err)
	assert.Same(t, all[5], w)
	_, err = s.f.NewWord()
	require.ErrorIs(t, err, syscall.ENOMEM)
	for _, w := range all {
		s.f.FreeWord(w)
	}
}

// TestWordsOfOthers: an enable word is one of the memory. A closed file registers nothing, whatever the word.
func TestWordsOfOthers(t *testing.T) {
	request := func(w *atomic.Uintptr) backend.Request {
		return backend.Request{Command: "ue_env u64 n", Word: w, Bit: 1}
	}
	f, err := Open("")
	require.NoError(t, err)
	_, err = f.Register(request(new(atomic.Uintptr)))
	require.ErrorIs(t, err, syscall.EFAULT)
	_, err = f.Register(request(nil))
	require.ErrorIs(t, err, syscall.ENOMEM)
	require.NoError(t, f.Close())
	require.Nil(t, process().files)
	_, err = f.Register(request(new(atomic.Uintptr)))
	require.ErrorIs(t, err, syscall.EBADF)
	_, err = f.Register(request(nil))
	require.ErrorIs(t, err, syscall.EBADF)
}

// TestFaultOfCaller: a fault in the memory of a caller is the caller's, and costs no events.
func TestFaultOfCaller(t *testing.T) {
	t.Setenv(envDir, t.TempDir())
	p := openSubject(t)
	defer p.close(t)
	s := attached(t, attach.Options{})
	path := filepath.Join(t.TempDir(), "record")
	require.NoError(t, os.WriteFile(path, binary.NativeEndian.AppendUint32(make([]byte, 0, 1<<16), p.r.Index)[:1<<16], 0o600))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	record, err := sys.MapWritable(int(file.Fd()), 1<<16)
	require.NoError(t, err)
	defer func() { assert.NoError(t, sys.UnmapBytes(record)) }()
	require.NoError(t, p.f.Write(record[:16]))
	require.NoError(t, file.Truncate(0))
	require.NoError(t, file.Close())
	assert.Panics(t, func() { _ = p.f.Write(record[:16]) })
	p.write(3, 12)
	assert.Len(t, s.Read(), 4)
}

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

// TestWordsStay: the enable words have one address for the life of the process, at which zeros are while there is no memory.
func TestWordsStay(t *testing.T) {
	p := openSubject(t)
	first := process().address
	for round := range testscale.Count(1000, 100) {
		a, err := attach.Open(os.Getpid())
		require.NoError(t, err)
		s, err := a.Attach(attach.Options{Patterns: []string{"ue_env"}, RingSize: 4096})
		require.NoError(t, err)
		require.True(t, p.enabled())
		p.close(t)
		require.False(t, p.enabled(), "round %d", round)
		require.NoError(t, errors.Join(s.Detach(), a.Close()))
		require.False(t, p.enabled(), "a tool of the past")

		p = openSubject(t)
		require.Same(t, first, process().address)
		require.False(t, p.enabled())
	}
	p.close(t)
	assert.Nil(t, process().files)
}
