package abi_test

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/words"
)

// native lays integers out as a packed structure of C does.
func native(t *testing.T, fields ...any) []byte {
	t.Helper()
	var b []byte
	for _, f := range fields {
		var err error
		b, err = binary.Append(b, binary.NativeEndian, f)
		require.NoError(t, err)
	}
	return b
}

func TestLayout(t *testing.T) {
	const word, name = 0x1122334455667788, 0x99aabbccddeeff00
	reg := native(t, uint32(28), uint8(31), uint8(4), uint16(3), uint64(word), uint64(name), uint32(0))
	assert.Len(t, reg, 28)
	assert.Equal(t, reg, abi.UserReg(31, 4, 3, word, name))

	unreg := native(t, uint32(16), uint8(31), uint8(0), uint16(0), uint64(word))
	assert.Len(t, unreg, 16)
	assert.Equal(t, unreg, abi.UserUnreg(31, word))

	old := native(t, uint32(20), uint64(name), uint32(0), uint32(0))
	assert.Len(t, old, 20)
	assert.Equal(t, old, abi.OldUserReg(name))
}

// TestWordSizes holds what the selftest bit_sizes of the kernel holds, and more.
func TestWordSizes(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t)
	page := mapPages(t, 1)
	w, name := words.At(page, 0), newName()
	for _, c := range []struct {
		offset    uint64
		bit, size uint8
		flags     uint16
		want      error
	}{
		{0, 0, 4, 0, nil},
		{0, 31, 4, 0, nil},
		{4, 0, 4, 0, nil},
		{0, 32, 4, 0, errno.EINVAL},
		{0, 255, 4, 0, errno.EINVAL},
		{0, 0, 8, 0, nil},
		{0, 63, 8, 0, nil},
		{8, 0, 8, 0, nil},
		{0, 64, 8, 0, errno.EINVAL},
		{0, 0, 0, 0, errno.EINVAL},
		{0, 0, 1, 0, errno.EINVAL},
		{0, 0, 2, 0, errno.EINVAL},
		{0, 0, 3, 0, errno.EINVAL},
		{0, 0, 5, 0, errno.EINVAL},
		{0, 0, 6, 0, errno.EINVAL},
		{0, 0, 7, 0, errno.EINVAL},
		{0, 0, 9, 0, errno.EINVAL},
		{0, 0, 128, 0, errno.EINVAL},
		{1, 0, 4, 0, errno.EINVAL},
		{2, 0, 4, 0, errno.EINVAL},
		{4, 0, 8, 0, errno.EINVAL},       // natural alignment
		{1 << 63, 0, 4, 0, errno.EFAULT}, // not the program's memory
		{0, 0, 4, 1 << 15, errno.EINVAL},
	} {
		err := abi.RegisterRaw(f, name, w, c.offset, c.bit, c.size, c.flags)
		if c.want != nil {
			assert.ErrorIs(t, err, c.want, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		assert.ErrorIs(t, abi.RegisterRaw(f, name, w, c.offset, c.bit, c.size, c.flags), errno.EADDRINUSE, "taken: %+v", c)
		require.NoError(t, f.Unregister(words.At(page, int(c.offset)), c.bit))
		assert.ErrorIs(t, f.Unregister(words.At(page, int(c.offset)), c.bit), errno.ENOENT, "%+v", c)
	}
	// The second page of the address space, where nothing is mapped. A page that was unmapped before could be mapped again
	// by Go's runtime meanwhile.
	absent := uint64(os.Getpagesize())
	assert.ErrorIs(t, abi.RegisterRaw(f, name, nil, absent, 0, 4, 0), errno.ENOMEM)
	unmap(t, page)

	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	assert.True(t, exists, "the file still holds it")
}

// TestStructSizes: a structure may be longer than the kernel's own, if its tail is zero.
func TestStructSizes(t *testing.T) {
	f, _ := open(t)
	size := uint32(28)
	if f.ABI() != backend.EnableAddress {
		size = 20
	}
	// Nothing can be registered with zeros: no word size, no command.
	accepted := []error{errno.EINVAL, errno.EFAULT}
	for _, c := range []struct {
		size uint32
		tail byte
		want []error
	}{
		{0, 0, []error{errno.EINVAL}},
		{size - 1, 0, []error{errno.EINVAL}},
		{size, 0, accepted},
		{64, 0, accepted},
		{64, 1, []error{errno.E2BIG}},
		{1 << 20, 0, []error{errno.E2BIG}},
	} {
		err := abi.RegisterSize(f, c.size, c.tail)
		assert.Error(t, err)
		assert.Contains(t, c.want, err, "%+v", c)
	}
}

func TestBadCommands(t *testing.T) {
	f, tfs := open(t)
	w := newWord(t, f)
	lockThread(t)
	name := newName()
	for _, command := range []string{
		"a\x00b",
		strings.Repeat("x", 512),
		name + " what x",
		name + " u32",
		name + " long x",
	} {
		_, err := f.Register(backend.Request{Command: command, Word: w})
		assert.ErrorIs(t, err, errno.EINVAL, "%.20q", command)
	}
	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	assert.False(t, exists)
	assert.ErrorIs(t, f.Delete("a\x00b"), errno.EINVAL)
	assert.ErrorIs(t, f.Delete(newName()), errno.ENOENT)
	_, known := f.Fields(newName())
	assert.False(t, known)

	_, err = f.Register(backend.Request{Command: name + ":flag u32 x", Word: w})
	assert.Equal(t, f.ABI() == backend.EnableAddress, errors.Is(err, errno.EINVAL), "older kernels ignore it")
	if f.ABI() != backend.EnableAddress {
		_, err := f.Register(backend.Request{Command: name, Flags: backend.FlagMultiFormat})
		assert.ErrorIs(t, err, errno.EINVAL, "this kernel has no flags")
		assert.NoError(t, f.Unregister(w, 0), "nothing to do")
	}
}

func TestFieldsAndDelete(t *testing.T) {
	f, tfs := open(t)
	lockThread(t)
	w, name := newWord(t, f), newName()
	_, err := f.Register(backend.Request{Command: name + " u32 a; __rel_loc char[] b", Word: w})
	require.NoError(t, err)
	fields, known := f.Fields(name)
	assert.True(t, known)
	assert.Equal(t, "u32 a; __rel_loc char[] b", fields)
	assert.ErrorIs(t, f.Delete(name), errno.EBUSY, "this file holds it")

	require.NoError(t, f.Unregister(w, 0))
	require.NoError(t, f.Close())
	other, _ := open(t)
	if other.ABI() == backend.EnableAddress {
		gone(t, tfs, name) // with its last user
		return
	}
	require.NoError(t, other.Delete(name))
	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	assert.False(t, exists)
}
