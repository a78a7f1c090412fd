package symbols

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallTable makes the table of a program with two functions: main.outer, in which main.inlined is inlined from offset 16
// to 32, and main.next. It returns the section and the bytes of go:func.*.
func smallTable(magic uint32, order binary.AppendByteOrder) (section, gofunc []byte) {
	names := []byte("\x00main.outer\x00main.inlined\x00main.next\x00")
	units := order.AppendUint32(nil, 0)
	files := []byte("/src/main.go\x00")
	// Tables of pairs: the value less the one before, twice (odd: negative), and how many bytes of code have it. The first
	// value is counted from -1.
	pcs := []byte{
		0,
		2, 64, 0, // at 1: file 0
		22, 16, 180, 1, 16, 179, 1, 32, 0, // at 4: lines 10, 100, 10
		0, 16, 2, 16, 1, 32, 0, // at 13: no inlined call, the first one, none
	}
	funcs := make([]byte, 0, 256)
	entries := []uint32{0, 64, 128}
	offsets := []uint32{20, 20 + 60}
	for i, e := range entries {
		funcs = order.AppendUint32(funcs, e)
		if i < len(offsets) {
			funcs = order.AppendUint32(funcs, offsets[i])
		}
	}
	for i, name := range []uint32{1, 25} {
		for len(funcs) < int(offsets[i]) {
			funcs = append(funcs, 0)
		}
		words := []uint32{entries[i], name, 0, 0, 0, 1, 4, 3, 0}
		if magic == magic120 {
			words = append(words, 9) // startLine
		}
		for _, w := range words {
			funcs = order.AppendUint32(funcs, w)
		}
		funcs = append(funcs, 0, 0, 0, 0)
		inlTree := uint32(0)
		if i == 0 {
			funcs[len(funcs)-1] = 4 // nfuncdata
			inlTree = 13
		}
		for _, w := range []uint32{0, 0, inlTree} {
			funcs = order.AppendUint32(funcs, w)
		}
		if i == 0 {
			for _, w := range []uint32{^uint32(0), ^uint32(0), ^uint32(0), 4} {
				funcs = order.AppendUint32(funcs, w)
			}
			offsets[1] = uint32(len(funcs))
			order.(binary.ByteOrder).PutUint32(funcs[12:], offsets[1])
		}
	}
	section = append(order.AppendUint32(nil, magic), 0, 0, 1, 8)
	parts := [][]byte{names, units, files, pcs, funcs}
	words := []uint64{2, 1, 0x1000}
	at := uint64(8 + 8*8)
	for _, p := range parts {
		words = append(words, at)
		at += uint64(len(p))
	}
	for _, w := range words {
		section = order.AppendUint64(section, w)
	}
	for _, p := range parts {
		section = append(section, p...)
	}
	// The tree is at 4: funcID and padding, nameOff 12 (main.inlined), parentPc 8, startLine.
	gofunc = append(make([]byte, 4), 0, 0, 0, 0)
	for _, w := range []uint32{12, 8, 99} {
		gofunc = order.AppendUint32(gofunc, w)
	}
	return section, gofunc
}

// TestGoTable reads tables of both versions and byte orders.
func TestGoTable(t *testing.T) {
	for _, magic := range []uint32{magic118, magic120} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			section, gofunc := smallTable(magic, order)
			table, err := newGoTable(section, order.(binary.ByteOrder))
			require.NoError(t, err)
			require.Equal(t, uint64(0x1000), table.textAddr)
			table.inlined = gofunc
			frames := func(addr uint64) []Frame {
				f, ok := table.appendFrames(nil, addr)
				assert.Equal(t, len(f) > 0, ok)
				return f
			}
			outer := Frame{Func: "main.outer", File: "/src/main.go", Line: 10}
			assert.Equal(t, []Frame{outer}, frames(0x1000))
			assert.Equal(t, []Frame{{Func: "main.inlined", File: "/src/main.go", Line: 100, Inlined: true}, outer}, frames(0x1014))
			assert.Equal(t, []Frame{outer}, frames(0x103f))
			assert.Equal(t, []Frame{{Func: "main.next", File: "/src/main.go", Line: 10}}, frames(0x1040))
			assert.Empty(t, frames(0x1080))
			assert.Empty(t, frames(0xfff))
		}
	}
	for _, b := range [][]byte{nil, make([]byte, 100), []byte("\xf1\xff\xff\xff\x00\x00\x01\x08")} {
		_, err := newGoTable(b, binary.LittleEndian)
		assert.ErrorIs(t, err, errNoGoTable)
	}
}

// TestLongStream: of streams of pairs that do not end, no more is read than of those of the largest functions.
func TestLongStream(t *testing.T) {
	const outer, inlined, file = "main.outer", "main.inlined", "/src/main.go"
	for _, c := range []struct {
		place       uint64 // of the table that is long, in the first function
		last        byte   // the difference of its last value, twice
		addr        uint64
		found, none []Frame
	}{
		{20, 2, 0x1028, []Frame{{Func: outer, File: file, Line: 10}}, []Frame{{Func: outer}}},
		{24, 42, 0x1028, []Frame{{Func: outer, File: file, Line: 20}}, []Frame{{Func: outer, File: file}}},
		{44 + 4*pcdataInlTreeIndex, 2, 0x1014, []Frame{{Func: inlined, File: file, Line: 100, Inlined: true}, {Func: outer}}, []Frame{{Func: outer}}},
	} {
		for pairs, want := range map[int][]Frame{maxPairs - 10: c.found, maxPairs + 1: c.none, 1 << 24: c.none} {
			section, gofunc := smallTable(magic120, binary.LittleEndian)
			table, err := newGoTable(section, binary.LittleEndian)
			require.NoError(t, err)
			table.inlined = gofunc
			place := table.funcs[table.funcs.u32(table.order, 4):][c.place:]
			// The long table follows those of smallTable. Before the last pair, the value is -1 or 0.
			const short = 20
			binary.LittleEndian.PutUint32(place, short)
			table.pcs = append(slices.Clone(table.pcs[:short]), bytes.Repeat([]byte{2, 0, 1, 0}, (pairs-1)/2)...)
			table.pcs = append(table.pcs, c.last, 127)
			frames, ok := table.appendFrames(nil, c.addr)
			assert.True(t, ok)
			assert.Equal(t, want, frames, "%d pairs, table at %d", pairs, c.place)
		}
	}
}

// FuzzGoTable: no table makes the reader panic, or go on for ever.
func FuzzGoTable(f *testing.F) {
	for _, magic := range []uint32{magic118, magic120} {
		section, gofunc := smallTable(magic, binary.LittleEndian)
		f.Add(section, gofunc, uint64(0x1014))
	}
	f.Fuzz(func(t *testing.T, section, gofunc []byte, addr uint64) {
		table, err := newGoTable(section, binary.LittleEndian)
		if err != nil {
			return
		}
		table.inlined = gofunc
		frames, _ := table.appendFrames(nil, addr)
		assert.LessOrEqual(t, len(frames), maxInlined+1)
	})
}
