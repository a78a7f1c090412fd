//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
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
