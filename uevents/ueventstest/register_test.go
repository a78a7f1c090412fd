package ueventstest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents"
)

// TestRegisterWhileTraced registers an event that is traced already.
func TestRegisterWhileTraced(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		mustRegister(t, k.open(), "ev")
		mustAttach(t, k, Perf, "ev")

		r := mustRegister(t, k.open(), "ev")
		assert.NotZero(t, r.Word.Load()&r.Mask)
	})
	k := NewKernel(nil)
	word := new(atomic.Uintptr)
	word.Store(^uintptr(0))
	_, err := register(k.open(), "ev", word, 4)
	require.NoError(t, err)
	assert.Equal(t, ^uintptr(1<<4), word.Load(), "a stale bit is cleared, the others stay")
}

// TestSharedWord gives many events of several files a bit each of one word.
func TestSharedWord(t *testing.T) {
	k := NewKernel(nil)
	word := new(atomic.Uintptr)
	files := []backend.Backend{k.open(), k.open()}
	for bit := range uint8(32) {
		_, err := register(files[bit%2], fmt.Sprintf("ev%d", bit), word, bit)
		require.NoError(t, err)
	}
	tool := mustAttach(t, k, Ftrace, "ev3", "ev17", "ev31")
	assert.Equal(t, uintptr(1<<3|1<<17|1<<31), word.Load())
	tool.Detach()
	assert.Zero(t, word.Load())
}

// TestFlags: the kernel knows none.
func TestFlags(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		for bit := range 16 {
			_, err := k.open().Register(backend.Request{Command: "__abi_event", Flags: 1 << bit, Word: new(atomic.Uintptr)})
			assert.ErrorIs(t, err, errno.EINVAL)
		}
		assert.Empty(t, names(k))
	})
}

// TestRegisterErrors has the order in which the kernel looks at a registration.
func TestRegisterErrors(t *testing.T) {
	k := NewKernel(&Options{MaxEvents: 1})
	f := k.open()
	used := new(atomic.Uintptr)
	_, err := register(f, "ev u32 a", used, 0)
	require.NoError(t, err)

	tooLong := strings.Repeat("x", 512)
	tests := []struct {
		name    string
		request backend.Request
		want    error
	}{
		{"flags before the word", backend.Request{Command: "ev u32 a", Flags: 4, Word: used}, errno.EINVAL},
		{"the bit's range before the word", backend.Request{Command: "ev u32 a", Bit: backend.WordBits, Word: used}, errno.EINVAL},
		{"the word before the text", backend.Request{Command: tooLong, Word: used}, errno.EADDRINUSE},
		{"the length", backend.Request{Command: tooLong, Bit: 1, Word: used}, errno.EINVAL},
		{"flags in the name", backend.Request{Command: "ev:x u32 a", Bit: 1, Word: used}, errno.EINVAL},
		{"another event of the name", backend.Request{Command: "ev u64 a", Bit: 1, Word: used}, errno.EADDRINUSE},
		{"the fields before the number of events", backend.Request{Command: "new nonsense", Bit: 1, Word: used}, errno.EINVAL},
		{"the number of events", backend.Request{Command: "new", Bit: 1, Word: used}, errno.EMFILE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := f.Register(tt.request)
			assert.ErrorIs(t, err, tt.want)
			assert.Len(t, k.Events(), 1)
		})
	}
	_, err = register(f, "ev u32 a", used, 1)
	assert.NoError(t, err, "an event that is there counts once")
}

func TestRegisterWithoutWord(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	_, err := register(f, "ev", nil, 0)
	assert.ErrorIs(t, err, errno.ENOMEM)
	assert.Equal(t, []string{"ev"}, names(k), "held by the file")
	r := mustRegister(t, f, "other")
	assert.Equal(t, uint32(1), r.Index)
	require.NoError(t, f.Close())
	assert.Equal(t, []string{"other"}, names(k), "held by its word")
}

func TestIndexesBelongToFiles(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		a, b := k.open(), k.open()
		assert.Equal(t, uint32(0), mustRegister(t, a, "first").Index)
		assert.Equal(t, uint32(1), mustRegister(t, a, "second").Index)
		assert.Equal(t, uint32(0), mustRegister(t, b, "second").Index)
		assert.Equal(t, uint32(1), mustRegister(t, b, "first").Index)
		assert.Equal(t, uint32(1), mustRegister(t, a, "second").Index)
		assert.Equal(t, 2, k.Events()[1].Files)
	})
}

// TestStatusGenerationsFindByName has what kernels before 6.4 do instead of comparing.
func TestStatusGenerationsFindByName(t *testing.T) {
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		f := k.open()
		first := mustRegister(t, f, "ev u32 a")
		for _, command := range []string{"ev u64 b", "ev"} {
			assert.Equal(t, first, mustRegister(t, f, command), command)
		}
		assert.Equal(t, "ev u32 a", k.Events()[0].Declaration.String())

		_, err := register(f, "new nonsense", nil, 0)
		assert.ErrorIs(t, err, errno.EINVAL)
		assert.NoError(t, f.Unregister(first.Word, 0), "nor anything to unregister")
	})
}

func TestStatusPageLimitsEvents(t *testing.T) {
	limits := map[uevents.ABI]int{uevents.ABIStatusByte: 4095, uevents.ABIStatusBit: 32767}
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		limit := limits[uevents.ABI(k.abi)]
		f := k.open()
		for i := range limit {
			g := k.open() // a file of its own, since each keeps a list of its events
			mustRegister(t, g, fmt.Sprintf("ev%d", i))
			require.NoError(t, g.Close())
		}
		_, err := register(f, "one_more", nil, 0)
		assert.ErrorIs(t, err, errno.EMFILE)
		require.NoError(t, f.Delete("ev7"))
		r, err := register(f, "one_more", nil, 0)
		require.NoError(t, err)
		_, mask := k.page.at(8)
		assert.Equal(t, mask, r.Mask, "the lowest free index")
	})
}

func TestClosedFileAndKernel(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		assert.Equal(t, k.abi, f.ABI())
		require.NoError(t, f.Close())
		_, err := register(f, "ev", new(atomic.Uintptr), 0)
		assert.ErrorIs(t, err, errno.EBADF)
		assert.ErrorIs(t, f.Unregister(new(atomic.Uintptr), 0), errno.EBADF)
		assert.ErrorIs(t, f.Write(message(0)), errno.EBADF)
		assert.ErrorIs(t, f.Close(), errno.EBADF)
		assert.ErrorIs(t, f.Delete("ev"), errno.ENOENT, "which takes a descriptor of its own")

		f = k.open()
		require.Error(t, k.Close())
		_, err = register(f, "ev", new(atomic.Uintptr), 0)
		assert.ErrorIs(t, err, errno.ENODEV)
		assert.NoError(t, f.Close())
	})
}

func TestFields(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		_, known := f.Fields("ev")
		assert.False(t, known)
		mustRegister(t, f, "ev u32 a;struct s b 8")
		mustRegister(t, f, "empty")
		fields, known := f.Fields("ev")
		assert.True(t, known)
		assert.Equal(t, "u32 a; struct s b 8", fields)
		fields, known = f.Fields("empty")
		assert.True(t, known)
		assert.Empty(t, fields)
	})
}

// TestEachReferenceHolds takes the three kinds of references away in every order.
func TestEachReferenceHolds(t *testing.T) {
	orders := [][3]string{
		{"file", "word", "tool"},
		{"file", "tool", "word"},
		{"word", "file", "tool"},
		{"word", "tool", "file"},
		{"tool", "file", "word"},
		{"tool", "word", "file"},
	}
	for _, order := range orders {
		t.Run(strings.Join(order[:], ","), func(t *testing.T) {
			k := NewKernel(nil)
			f, other := k.open(), k.open()
			word := new(atomic.Uintptr)
			_, err := register(f, "ev", word, 0)
			require.NoError(t, err)
			tool := mustAttach(t, k, Ftrace, "ev")
			drop := map[string]func(){
				"file": func() { require.NoError(t, f.Close()) },
				"word": func() { require.NoError(t, other.Unregister(word, 0)) },
				"tool": tool.Detach,
			}
			for _, what := range order {
				assert.Equal(t, []string{"ev"}, names(k))
				assert.ErrorIs(t, other.Delete("ev"), errno.EBUSY)
				drop[what]()
			}
			assert.Empty(t, names(k))
			assert.ErrorIs(t, other.Delete("ev"), errno.ENOENT)
		})
	}
}

func TestStatusGenerationsKeepEvents(t *testing.T) {
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "ev")
		tool := mustAttach(t, k, Ftrace, "ev")
		assert.ErrorIs(t, k.open().Delete("ev"), errno.EBUSY)
		require.NoError(t, f.Close())
		assert.ErrorIs(t, k.open().Delete("ev"), errno.EBUSY)
		tool.Detach()
		assert.Equal(t, []string{"ev"}, names(k))
		require.NoError(t, k.open().Delete("ev"))
		assert.Empty(t, names(k))

		again := mustRegister(t, k.open(), "another")
		assert.Same(t, r.Word, again.Word, "the index is free again")
		assert.Equal(t, r.Mask, again.Mask)
	})
}

func TestFreedWords(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	word, err := f.NewWord()
	require.NoError(t, err)
	assert.Zero(t, word.Load())
	_, err = register(f, "ev", word, 5)
	require.NoError(t, err)
	require.NoError(t, f.Unregister(word, 5))
	f.FreeWord(word)
	require.NoError(t, f.Close())
	assert.NoError(t, k.Close())

	k = NewKernel(nil)
	f = k.open()
	_, err = register(f, "ev", word, 5)
	require.NoError(t, err)
	f.FreeWord(word)
	require.NoError(t, f.Unregister(word, 5))
	require.NoError(t, f.Close())
	assert.EqualError(t, k.Close(), "ueventstest: enable words freed while registered, of ev")

	k = NewKernel(nil)
	f = k.open()
	for range 2 {
		_, err = f.NewWord()
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	assert.EqualError(t, k.Close(), "ueventstest: enable words not freed: 2")
}
