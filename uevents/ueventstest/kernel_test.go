package ueventstest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

func TestDefaults(t *testing.T) {
	for _, o := range []*Options{nil, {}, {BufferSize: -1, MaxEvents: -1}} {
		k := NewKernel(o)
		assert.Equal(t, backend.EnableAddress, k.open().ABI())
		assert.Equal(t, defaultBufferSize, k.bufferSize)
		assert.Equal(t, defaultMaxEvents, k.maxEvents)
	}
}

func TestMaxEvents(t *testing.T) {
	k := NewKernel(&Options{MaxEvents: 3})
	f := k.open()
	var last backend.Registration
	for i := range 3 {
		last = mustRegister(t, f, fmt.Sprintf("ev%d", i))
	}
	_, err := register(f, "one_more", new(atomic.Uintptr), 0)
	assert.ErrorIs(t, err, errno.EMFILE)
	require.NoError(t, f.Unregister(last.Word, 0))
	require.NoError(t, f.Close())
	mustRegister(t, k.open(), "one_more")
}

// fakeTB is a test that fails without failing the one it is used in.
type fakeTB struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Error(args ...any) {
	f.errors = append(f.errors, fmt.Sprint(args...))
}

func (f *fakeTB) end() {
	for _, c := range f.cleanups {
		c()
	}
}

func TestNewFindsLeaks(t *testing.T) {
	tests := []struct {
		name string
		test func(t *testing.T, k *Kernel)
		want []string
	}{
		{"nothing done", func(*testing.T, *Kernel) {}, nil},
		{"a tool is left to the kernel", func(t *testing.T, k *Kernel) {
			f := k.open()
			r := mustRegister(t, f, "ev")
			mustAttach(t, k, Ftrace, "ev")
			require.NoError(t, f.Unregister(r.Word, 0))
			require.NoError(t, f.Close())
		}, nil},
		{"closed properly", func(t *testing.T, k *Kernel) {
			f := k.open()
			r := mustRegister(t, f, "ev")
			mustAttach(t, k, Ftrace, "ev").Detach()
			require.NoError(t, f.Unregister(r.Word, 0))
			require.NoError(t, f.Close())
		}, nil},
		{"open files", func(_ *testing.T, k *Kernel) {
			k.open()
			k.open()
		}, []string{"ueventstest: providers still open: 2"}},
		{"registered words", func(t *testing.T, k *Kernel) {
			f := k.open()
			for _, command := range []string{"b", "a", "b"} {
				mustRegister(t, f, command)
			}
			require.NoError(t, f.Close())
		}, []string{"ueventstest: enable bits still registered: 3, of a, b"}},
		{"both", func(t *testing.T, k *Kernel) {
			mustRegister(t, k.open(), "ev")
		}, []string{"ueventstest: providers still open: 1; enable bits still registered: 1, of ev"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := &fakeTB{}
			tt.test(t, New(fake, nil))
			fake.end()
			assert.Equal(t, tt.want, fake.errors)
		})
	}
}

func TestClose(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "ev")
		tool := mustAttach(t, k, Ftrace, "ev")
		require.NoError(t, f.Write(message(0, []byte{1})))
		assert.Error(t, k.Close())
		assert.NoError(t, k.Close(), "a second Close")

		assert.Zero(t, r.Word.Load()&r.Mask, "no tool is attached any more")
		assert.ErrorIs(t, f.Write(message(0, []byte{2})), errno.EBADF)
		assert.Len(t, tool.Records(), 1)
		tool.Detach()
		_, err := k.Attach(Ftrace, "ev")
		assert.ErrorIs(t, err, errno.ENODEV)
		assert.NoError(t, f.Unregister(r.Word, 0))
		assert.NoError(t, f.Close())
	})
}
