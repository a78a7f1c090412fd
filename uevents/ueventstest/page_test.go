package ueventstest

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
)

// TestStatusPagePlaces: each event has bits of its own.
func TestStatusPagePlaces(t *testing.T) {
	for _, abi := range []backend.ABI{backend.StatusByte, backend.StatusBit} {
		p := newStatusPage(abi)
		var used [len(p.words)]uintptr
		for index := range uint32(p.max()) {
			word, mask := p.at(index)
			require.Equal(t, map[backend.ABI]int{backend.StatusByte: 8, backend.StatusBit: 1}[abi], bits.OnesCount(uint(mask)))
			i := int(index) / (p.max() / len(used))
			require.Same(t, &p.words[i], word)
			require.Zero(t, used[i]&mask)
			used[i] |= mask
		}
	}
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
		want   uintptr
	}{
		{backend.StatusByte, statusFtrace, 1},
		{backend.StatusByte, statusPerf, 2},
		{backend.StatusByte, statusFtrace | statusPerf, 3},
		{backend.StatusBit, statusFtrace, 1},
		{backend.StatusBit, statusPerf, 1},
		{backend.StatusBit, statusFtrace | statusPerf, 1},
	}
	for _, tt := range tests {
		p := newStatusPage(tt.abi)
		p.set(1, statusFtrace|statusPerf)
		p.set(1, tt.status)
		word, mask := p.at(1)
		assert.Equal(t, tt.want, word.Load()>>bits.TrailingZeros(uint(mask)))
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
