package registry

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

// owner is a kernel that notes what it is told.
type owner struct {
	refuses   error
	attached  bool
	destroyed []string
	followed  map[Bit]string
}

type event = Event[int]

func (o *owner) Create(*event) error    { return o.refuses }
func (o *owner) Destroy(e *event)       { o.destroyed = append(o.destroyed, e.Decl.Name) }
func (o *owner) Attached(*event) bool   { return o.attached }
func (o *owner) Add(e *event, b Bit)    { o.followed[b] = e.Decl.Name; b.Set(true) }
func (o *owner) Remove(_ *event, b Bit) { delete(o.followed, b); b.Set(false) }

func newTest(keeps bool) (*owner, *Registry[int], *File[int]) {
	o := &owner{followed: map[Bit]string{}}
	r := New(o, keeps)
	return o, r, r.Open()
}

// TestLives: an event lives as long as a file, a bit, or a tool holds it.
func TestLives(t *testing.T) {
	o, r, first := newTest(false)
	second := r.Open()
	var word atomic.Uintptr
	register := func(f *File[int], command string, bit uint8) (uint32, error) {
		_, index, err := f.Register(backend.Request{Command: command, Word: &word, Bit: bit})
		return index, err
	}
	for i, want := range []struct {
		f       *File[int]
		command string
		bit     uint8
		index   uint32
		err     error
	}{
		{first, "a u32 x", 0, 0, nil},
		{first, "b u32 x", 1, 1, nil},
		{first, "a u32 x", 2, 0, nil},
		{second, "b u32 x", backend.WordBits - 1, 0, nil},
		{second, "a u64 x", 4, 0, errno.EADDRINUSE}, // other fields
		{second, "c", 1, 0, errno.EADDRINUSE},       // the bit
		{second, "c", backend.WordBits, 0, errno.EINVAL},
		{second, "c u32", 4, 0, errno.EINVAL},
	} {
		index, err := register(want.f, want.command, want.bit)
		require.ErrorIs(t, err, want.err, "%d", i)
		assert.Equal(t, want.index, index, "%d", i)
	}
	_, _, err := first.Register(backend.Request{Command: "d", Word: &word, Bit: 5, Flags: 1})
	require.ErrorIs(t, err, errno.EINVAL)
	o.refuses = errors.New("refused")
	_, err = register(first, "d", 5)
	require.ErrorIs(t, err, o.refuses)
	o.refuses = nil
	assert.Equal(t, 2, r.Len())
	assert.Equal(t, []string{"a", "b"}, names(r))
	assert.Equal(t, uintptr(0b111)|1<<(backend.WordBits-1), word.Load())
	a, b := r.Find("a"), r.Find("b")
	assert.Equal(t, 1, a.Files())
	assert.Equal(t, 2, b.Files())
	assert.Len(t, a.Bits(), 2)
	for bit, e := range r.Followed() {
		assert.Equal(t, o.followed[bit], e.Decl.Name)
	}
	fields, known := first.Fields("a")
	assert.True(t, known)
	assert.Equal(t, "u32 x", fields)
	_, known = first.Fields("c")
	assert.False(t, known)

	require.ErrorIs(t, first.Delete("a"), errno.EBUSY)
	require.ErrorIs(t, first.Delete("c"), errno.ENOENT)
	require.ErrorIs(t, first.Unregister(&word, 7), errno.ENOENT)
	require.NoError(t, first.Unregister(&word, 0))
	assert.Equal(t, []Bit{{&word, 2}}, a.Bits())
	assert.Zero(t, word.Load()&1)
	require.False(t, first.Lost())
	require.NoError(t, first.Close())
	require.True(t, first.Lost())
	require.ErrorIs(t, first.Close(), errno.EBADF)
	require.ErrorIs(t, first.Unregister(&word, 2), errno.EBADF)
	_, err = register(first, "d", 5)
	require.ErrorIs(t, err, errno.EBADF)
	assert.Empty(t, o.destroyed, "bits hold both")
	o.attached = true
	require.NoError(t, second.Unregister(&word, 2))
	require.ErrorIs(t, second.Delete("a"), errno.EBUSY)
	assert.Empty(t, o.destroyed, "a tool holds it")
	o.attached = false
	require.NoError(t, second.Delete("a"))
	require.NoError(t, second.Unregister(&word, 1))
	require.NoError(t, second.Close())
	assert.Equal(t, []string{"a"}, o.destroyed)
	third := r.Open()
	require.NoError(t, third.Unregister(&word, backend.WordBits-1))
	assert.Equal(t, []string{"a", "b"}, o.destroyed)
	assert.Zero(t, r.Len())
	assert.False(t, third.AwaitRemoval())
	r.Refuse(errno.EPERM)
	_, err = register(third, "d", 5)
	require.ErrorIs(t, err, errno.EPERM)
}

func names(r *Registry[int]) (list []string) {
	for _, e := range r.Events() {
		list = append(list, e.Decl.Name)
	}
	return list
}

// TestWithoutWord: the kernel cannot write to no address, but the file has the event.
func TestWithoutWord(t *testing.T) {
	_, r, f := newTest(false)
	_, _, err := f.Register(backend.Request{Command: "a"})
	require.ErrorIs(t, err, errno.ENOMEM)
	assert.Equal(t, 1, r.Find("a").Files())
	require.NoError(t, f.Close())
	assert.Zero(t, r.Len())
}

// TestKeeps: before Linux 6.4, an event stays until it is deleted, and has its name alone.
func TestKeeps(t *testing.T) {
	o, r, f := newTest(true)
	for range 2 {
		_, index, err := f.Register(backend.Request{Command: "a u32 x"})
		require.NoError(t, err)
		assert.Zero(t, index)
	}
	_, _, err := f.Register(backend.Request{Command: "a u64 x"})
	require.NoError(t, err)
	require.NoError(t, f.Unregister(nil, 0))
	require.NoError(t, f.Close())
	assert.Equal(t, 1, r.Len())
	require.NoError(t, f.Delete("a"))
	assert.Equal(t, []string{"a"}, o.destroyed)
}

// TestAt: what a program writes names an event of the file, and has its fixed fields.
func TestAt(t *testing.T) {
	_, r, f := newTest(false)
	assert.ErrorIs(t, r.Open().Refused(make([]byte, IndexSize)), errno.ENOENT)
	var word atomic.Uintptr
	for bit, command := range []string{"a", "b u32 x"} {
		_, _, err := f.Register(backend.Request{Command: command, Word: &word, Bit: uint8(bit)})
		require.NoError(t, err)
	}
	index := func(n uint32, payload int) []byte {
		return append(binary.NativeEndian.AppendUint32(nil, n), make([]byte, payload)...)
	}
	for _, c := range []struct {
		buf  []byte
		want string
		err  error
	}{
		{index(0, 0), "a", nil},
		{index(0, 5), "a", nil},
		{index(1, 4), "b", nil},
		{index(1, 3), "", errno.EINVAL},
		{index(2, 8), "", errno.ENOENT},
		{index(2, 0), "", errno.ENOENT},
		{index(1<<31, 8), "", errno.EINVAL},
		{index(0, 0)[:3], "", errno.EFAULT},
		{nil, "", errno.EFAULT},
	} {
		if e := f.At(c.buf); c.want == "" {
			assert.Nil(t, e)
			assert.ErrorIs(t, f.Refused(c.buf), c.err)
		} else if assert.NotNil(t, e) {
			assert.Equal(t, c.want, e.Decl.Name)
			assert.ErrorIs(t, f.Refused(c.buf), errno.ENOENT, "it was registered since")
		}
	}
	require.NoError(t, f.Close())
	assert.Nil(t, f.At(index(0, 0)))
	assert.ErrorIs(t, f.Refused(nil), errno.EBADF)
}

// TestValid: dynamic fields end inside of the payload, and text with a NUL, as the kernel checks.
func TestValid(t *testing.T) {
	for _, c := range []struct {
		fields  string
		payload []byte
		want    bool
	}{
		{"u32 x", []byte{1, 2, 3, 4}, true},
		{"__data_loc u8[] x", locate(4+8, 3, 1, 2, 3), true},
		{"__data_loc u8[] x", locate(4+8, 4, 1, 2, 3), false},
		{"__data_loc u8[] x", locate(4+9, 3, 1, 2, 3), false},
		{"__data_loc u8[] x", locate(0, 0), true},
		{"__rel_loc u8[] x", locate(0, 3, 1, 2, 3), true},
		{"__rel_loc u8[] x", locate(0, 4, 1, 2, 3), false},
		{"__data_loc char[] x", locate(4+8, 3, 'a', 'b', 0), true},
		{"__data_loc char[] x", locate(4+8, 2, 'a', 'b', 0), false},
		{"__data_loc char[] x", locate(4+8, 2, 'a', 0), true},
		{"__data_loc unsigned char[] x", locate(4+8, 2, 'a', 'b'), false},
		{"__data_loc char[] x", locate(0, 8), false}, // it ends where the payload begins
		{"__data_loc char[] x", locate(0, 0), false},
		{"u32 n; __data_loc char[] x", slices.Concat(make([]byte, 4), locate(1, 8)), true}, // with the first byte, which is 0
		{"__rel_loc char[] x", locate(0, 1, 0), true},
		{"__rel_loc char[] x", locate(0, 1, 1), false},
		{"u32 n; __rel_loc char[] x", slices.Concat(make([]byte, 4), locate(0, 2, 1, 0)), true},
		{"u32 n; __rel_loc char[] x", slices.Concat(make([]byte, 4), locate(0, 3, 1, 0)), false},
		{"u32 n; __data_loc char[] x; u32 m", slices.Concat(make([]byte, 4), locate(8+12, 2), make([]byte, 4), []byte{1, 0}), true},
		{"u32 n; __data_loc char[] x; u32 m", slices.Concat(make([]byte, 4), locate(8+12, 1), make([]byte, 4), []byte{1, 0}), false},
	} {
		_, _, f := newTest(false)
		var word atomic.Uintptr
		e, _, err := f.Register(backend.Request{Command: "e " + c.fields, Word: &word})
		require.NoError(t, err)
		assert.Equal(t, c.want, e.Valid(c.payload), "%s: %v", c.fields, c.payload)
	}
}

// locate is a location word, and what follows.
func locate(offset, length uint32, content ...byte) []byte {
	return append(binary.NativeEndian.AppendUint32(nil, offset|length<<16), content...)
}

// TestOldestFirst: events are listed in the order in which they were made.
func TestOldestFirst(t *testing.T) {
	_, r, f := newTest(true)
	var want []string
	for n := range 20 {
		want = append(want, string(rune('z'-n)))
		_, _, err := f.Register(backend.Request{Command: want[n]})
		require.NoError(t, err)
	}
	assert.Equal(t, want, names(r))
}
