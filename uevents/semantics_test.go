package uevents_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/testscale"
)

// The tests of the files semantics_*_test.go state what the kernel does, below the library's policies, and run
// unchanged against the simulated kernels and the real ones. They hold at least what the kernel's own selftests hold
// (tools/testing/selftests/user_events).

type session struct {
	t *testing.T
	world
	b    backend.Backend
	word *atomic.Uintptr
	used []uint8
}

func newSession(t *testing.T, w world) *session {
	b := w.open(t)
	s := &session{t: t, world: w, b: b}
	if b.ABI() == backend.EnableAddress {
		var err error
		s.word, err = b.NewWord()
		require.NoError(t, err)
		cleaner := w.open(t) // the test may close b
		t.Cleanup(func() {
			for _, bit := range s.used {
				_ = cleaner.Unregister(s.word, bit) // most tests have
			}
			cleaner.FreeWord(s.word)
		})
	}
	return s
}

func (s *session) addresses() bool { return s.b.ABI() == backend.EnableAddress }

// try registers at a bit.
func (s *session) try(bit uint8, command string) (backend.Registration, error) {
	s.used = append(s.used, bit)
	return s.b.Register(backend.Request{Command: command, Word: s.word, Bit: bit})
}

func (s *session) register(bit uint8, command string) backend.Registration {
	s.t.Helper()
	r, err := s.try(bit, command)
	require.NoError(s.t, err)
	return r
}

func (s *session) unregister(bit uint8) {
	s.t.Helper()
	require.NoError(s.t, s.b.Unregister(s.word, bit))
}

// gone waits until the kernel has deleted an event, which it does in the background.
func gone(t *testing.T, w world, event string) {
	t.Helper()
	testscale.Eventually(t, func() bool { return !w.exists(t, event) }, "%s is still there", event)
}

func on(r backend.Registration) bool { return r.Word.Load()&r.Mask != 0 }

func popcount(x uintptr) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

func record(index uint32, payload ...byte) []byte {
	return append(binary.NativeEndian.AppendUint32(nil, index), payload...)
}
