package ueventstest

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents"
)

func TestStatus(t *testing.T) {
	want := map[uevents.ABI]string{
		uevents.ABIStatusByte:    "1:a # Used by ftrace\n2:b # Used by perf\n3:c # Used by ftrace perf\n4:d\n\nActive: 4\nBusy: 3\nMax: 4096\n",
		uevents.ABIStatusBit:     "1:a # Used by ftrace\n2:b # Used by perf\n3:c # Used by ftrace perf\n4:d\n\nActive: 4\nBusy: 3\nMax: 32768\n",
		uevents.ABIEnableAddress: "a # Used by ftrace\nb # Used by perf\nc # Used by ftrace perf\nd\n\nActive: 4\nBusy: 3\n",
	}
	empty := map[uevents.ABI]string{
		uevents.ABIStatusByte:    "\nActive: 0\nBusy: 0\nMax: 4096\n",
		uevents.ABIStatusBit:     "\nActive: 0\nBusy: 0\nMax: 32768\n",
		uevents.ABIEnableAddress: "\nActive: 0\nBusy: 0\n",
	}
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		abi := uevents.ABI(k.abi)
		assert.Equal(t, empty[abi], k.Status())
		f := k.open()
		for _, command := range []string{"a", "b u32 x", "c", "d"} {
			mustRegister(t, f, command)
		}
		mustAttach(t, k, Perf, "c", "b")
		mustAttach(t, k, Ftrace, "c", "a")
		assert.Equal(t, want[abi], k.Status())
	})
}

func TestFormat(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		mustRegister(t, f, "first")
		mustRegister(t, f, "ev u16 a; char[16] b; struct s c 6; __rel_loc char[] d; __data_loc char[] e; __rel_loc u8[] f; unsigned int g")
		got, err := k.Format("ev")
		require.NoError(t, err)
		assert.Equal(t, `name: ev
ID: 2
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u16 a;	offset:8;	size:2;	signed:0;
	field:char b[];	offset:10;	size:16;	signed:1;
	field:struct s c;	offset:26;	size:6;	signed:1;
	field:__rel_loc char d[];	offset:32;	size:4;	signed:1;
	field:__data_loc char[] e;	offset:36;	size:4;	signed:1;
	field:__rel_loc u8 f[];	offset:40;	size:4;	signed:1;
	field:unsigned int g;	offset:44;	size:4;	signed:0;

print fmt: "a=%u b=%s c=%llu d=%s e=%s f=%llu g=%u", REC->a, REC->b, REC->c, __get_rel_str(d), __get_str(e), REC->f, REC->g
`, got)

		got, err = k.Format("first")
		require.NoError(t, err)
		assert.Contains(t, got, "signed:1;\n\n\nprint fmt: \"\"\n")
		_, err = k.Format("none")
		assert.ErrorIs(t, err, errno.ENOENT)
	})
}

func TestEvents(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		assert.Empty(t, k.Events())
		a, b := k.open(), k.open()
		mustRegister(t, a, "ev u32 x")
		mustRegister(t, a, "ev u32 x")
		mustRegister(t, b, "ev u32 x")
		mustAttach(t, k, Ftrace, "ev")
		mustAttach(t, k, Ftrace, "ev")
		mustAttach(t, k, Perf, "ev")
		got := k.Events()
		require.Len(t, got, 1)
		assert.Equal(t, "ev u32 x", got[0].Declaration.String())
		got[0].Declaration.Fields = nil

		words := 3
		if k.page != nil {
			words = 0
		}
		want := EventInfo{Name: "ev", Files: 2, Words: words, Ftrace: 2, Perf: 1}
		want.Declaration.Name = "ev"
		assert.Equal(t, want, got[0])
	})
}

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
