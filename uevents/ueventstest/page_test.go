package ueventstest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
)

// bytesOf returns the first n bytes of a page as a machine of this byte order stores them.
func bytesOf(p *statusPage, bigEndian bool, n int) (out []byte) {
	for i := range n {
		inWord := i % wordSize
		if bigEndian {
			inWord = wordSize - 1 - inWord
		}
		out = append(out, byte(p.words[i/wordSize].Load()>>(8*inWord)))
	}
	return out
}

// TestPlaceInBothByteOrders compares words with the page that a kernel keeps in bytes.
func TestPlaceInBothByteOrders(t *testing.T) {
	for order, bigEndian := range map[string]bool{"little-endian": false, "big-endian": true} {
		for _, abi := range []backend.ABI{backend.StatusByte, backend.StatusBit} {
			t.Run(order+"/"+abi.String(), func(t *testing.T) {
				for index := range uint32(64) {
					p := newStatusPage(abi)
					word, shift, mask := p.place(index, bigEndian)
					want := make([]byte, 64)
					if abi == backend.StatusByte {
						word.Store(3 << shift)
						want[index] = 3
					} else {
						word.Store(mask)
						want[index/8] = 1 << (index % 8)
					}
					require.Equal(t, want, bytesOf(p, bigEndian, 64), "index %d", index)
					require.NotZero(t, word.Load()&mask)
				}
			})
		}
	}
}

func TestHostOrder(t *testing.T) {
	var order binary.ByteOrder = binary.LittleEndian
	if hostBigEndian {
		order = binary.BigEndian
	}
	b := []byte{1, 2, 3, 4}
	assert.Equal(t, binary.NativeEndian.Uint32(b), order.Uint32(b))
}

func TestStatusPageIndexes(t *testing.T) {
	for abi, limit := range map[backend.ABI]int{backend.StatusByte: 4096, backend.StatusBit: 32768} {
		p := newStatusPage(abi)
		assert.Equal(t, limit, p.max())
		for want := 1; want < limit; want++ {
			got, full := p.take()
			require.False(t, full)
			require.Equal(t, uint32(want), got)
		}
		_, full := p.take()
		assert.True(t, full)
		p.free(1000)
		p.free(70)
		got, full := p.take()
		assert.False(t, full)
		assert.Equal(t, uint32(70), got)

		word, mask := p.at(uint32(limit - 1))
		p.set(uint32(limit-1), statusPerf)
		assert.NotZero(t, word.Load()&mask)
	}
}

// TestStatusPageValues has that a status byte says which kinds of tools are attached, and a bit only that one
// does.
func TestStatusPageValues(t *testing.T) {
	tests := []struct {
		abi    backend.ABI
		status uint32
		want   byte // of the page's byte with the event of index 1
	}{
		{backend.StatusByte, statusFtrace, 1},
		{backend.StatusByte, statusPerf, 2},
		{backend.StatusByte, statusFtrace | statusPerf, 3},
		{backend.StatusBit, statusFtrace, 2},
		{backend.StatusBit, statusPerf, 2},
		{backend.StatusBit, statusFtrace | statusPerf, 2},
	}
	for _, tt := range tests {
		p := newStatusPage(tt.abi)
		at := map[backend.ABI]int{backend.StatusByte: 1, backend.StatusBit: 0}[tt.abi]
		p.set(1, statusFtrace|statusPerf)
		p.set(1, tt.status)
		page := bytesOf(p, hostBigEndian, 8)
		assert.Equal(t, tt.want, page[at])
		p.set(1, 0)
		assert.Zero(t, p.words[0].Load())
	}
}

// TestNeighboursInOneWord has that events which share a word do not disturb each other.
func TestNeighboursInOneWord(t *testing.T) {
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		f := k.open()
		var regs []backend.Registration
		for _, name := range []string{"a", "b", "c"} {
			regs = append(regs, mustRegister(t, f, name))
		}
		require.Same(t, regs[0].Word, regs[1].Word)
		enabled := func() (out []bool) {
			for _, r := range regs {
				out = append(out, r.Word.Load()&r.Mask != 0)
			}
			return out
		}
		b := mustAttach(t, k, Ftrace, "b")
		assert.Equal(t, []bool{false, true, false}, enabled())
		both := mustAttach(t, k, Perf, "b", "c")
		assert.Equal(t, []bool{false, true, true}, enabled())
		b.Detach()
		assert.Equal(t, []bool{false, true, true}, enabled())
		both.Detach()
		assert.Equal(t, []bool{false, false, false}, enabled())
	})
}
