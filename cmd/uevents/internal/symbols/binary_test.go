package symbols

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// header64 is the header of an ELF file for AMD64 whose sections follow it.
func header64(sections, names uint16) elf.Header64 {
	return elf.Header64{
		Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: 64, Ehsize: 64, Phentsize: 56, Shentsize: 64, Shnum: sections, Shstrndx: names,
	}
}

// encode returns values one after the other, as they are in a file.
func encode(values ...any) []byte { return encodeIn(binary.LittleEndian, values...) }

func encodeIn(order binary.ByteOrder, values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// TestNamesOutOfRange: package debug/elf panics if the section with the names of sections is none of the file.
func TestNamesOutOfRange(t *testing.T) {
	file := make([]byte, 64+0xff00*64)
	copy(file, encode(header64(0, 0xfff0), elf.Section64{Size: 0xff00}))
	_, err := readExecutable(bytes.NewReader(file))
	assert.Error(t, err)
}

// sparse is a file that has zeros after its content, without an end.
type sparse []byte

func (s sparse) ReadAt(b []byte, offset int64) (int, error) {
	clear(b)
	if offset < int64(len(s)) {
		copy(b, s[offset:])
	}
	return len(b), nil
}

// allocated returns the memory that a function takes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// compressedZeros returns 1 GiB of zeros in the format of zlib, without the checksum.
func compressedZeros(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	length := 0
	for range 2 {
		length = b.Len()
		_, err := w.Write(zeros)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	second := b.Bytes()[length:] // it refers to zeros before it
	return append(b.Bytes(), bytes.Repeat(second, 1<<10)...)
}

// TestHostileFiles: small and sparse files do not make the reader take more memory than its limits.
func TestHostileFiles(t *testing.T) {
	testscale.HostOnly(t)
	const texts = 1 << 20 // bytes of names
	section := func(kind elf.SectionType, offset, size uint64) elf.Section64 {
		return elf.Section64{Type: uint32(kind), Off: offset, Size: size}
	}
	file := func(sections []elf.Section64, content ...any) sparse {
		values := []any{header64(uint16(len(sections)), 1), sections}
		return encode(append(values, content...)...)
	}
	many := func(n int, first elf.Section64, s elf.Section64) []elf.Section64 {
		return append([]elf.Section64{{}, first}, slices.Repeat([]elf.Section64{s}, n)...)
	}
	long := bytes.Repeat([]byte("a"), texts)
	long[0], long[texts-1] = 0, 0
	empty := section(elf.SHT_STRTAB, elf.EI_PAD, 1) // a zero

	symbols := slices.Repeat([]elf.Sym64{{Name: 1, Info: byte(elf.STT_FUNC), Value: 4096, Size: 16}}, 100_000)
	symbolTable := []elf.Section64{{}, empty, section(elf.SHT_STRTAB, 64+4*64, texts), section(elf.SHT_SYMTAB, 64+4*64+texts, 24*100_000)}
	symbolTable[3].Link = 2
	unlimited := slices.Clone(symbolTable)
	unlimited[2] = section(elf.SHT_PROGBITS, 0, 1<<40)
	unlimited[3].Off = 64 + 4*64
	bomb := append(encode(elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: 1 << 30}), compressedZeros(t)...)
	compressed := func(kind elf.SectionType, offset uint64) elf.Section64 {
		return elf.Section64{Type: uint32(kind), Flags: uint64(elf.SHF_COMPRESSED), Off: offset, Size: uint64(len(bomb)), Link: 1}
	}
	relocations := section(elf.SHT_RELA, 0, maxSection) //nolint:misspell // ELF's word
	relocations.Flags = uint64(elf.SHF_ALLOC)
	names := []byte("\x00.gopclntab\x00")
	goTable := func(n int, s elf.Section64) sparse {
		sections := many(n, section(elf.SHT_STRTAB, uint64(64+64*(n+3)), uint64(len(names))), s)
		section, _ := smallTable(binary.LittleEndian)
		at := uint64(64 + 64*(n+3) + len(names))
		return file(append(sections, elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: at, Size: uint64(len(section))}), names, section)
	}
	stretched := file(many(0xfefe, section(elf.SHT_STRTAB, 64, 4096), elf.Section64{}))
	binary.LittleEndian.PutUint16(stretched[58:], 0xffff)

	for name, f := range map[string]sparse{
		"100,000 symbols with one long name":      file(symbolTable, long, symbols),
		"symbols with names of 1 TB":              file(unlimited, symbols),
		"many sections with one long name":        file(many(0xfe00, section(elf.SHT_STRTAB, 64+64*(0xfe00+2), texts), elf.Section64{Name: 1}), long),
		"names of sections of 1 TB":               file(many(2, section(elf.SHT_STRTAB, 0, 1<<40), elf.Section64{})),
		"compressed names of sections":            file(many(2, compressed(elf.SHT_STRTAB, 64+4*64), elf.Section64{}), bomb),
		"large headers of sections":               stretched,
		"a large number of sections":              sparse(encode(header64(0, 0), elf.Section64{Size: 1 << 32})),
		"sections that overlap":                   goTable(1000, relocations),
		"compressed symbols":                      file(many(1, empty, compressed(elf.SHT_SYMTAB, 64+3*64)), bomb),
		"writable sections that overlap":          goTable(1000, elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_WRITE), Size: maxSection}),
		"sections larger than any of a program's": goTable(2, elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_WRITE), Size: 1 << 40}),
	} {
		t.Run(name, func(t *testing.T) {
			var x *executable
			took := allocated(func() { x, _ = readExecutable(f) })
			assert.LessOrEqual(t, took, uint64(maxRead+2*maxNames))
			if x != nil {
				assert.LessOrEqual(t, x.bytes, 3*maxSection)
			}
		})
	}
}

// TestSymbolTable reads symbols of both classes and byte orders; what is no function is left out, and so are versions.
func TestSymbolTable(t *testing.T) {
	names := []byte("\x00open@GLIBC_2.2.5\x00data\x00" + strings.Repeat("n", maxText+10) + "\x00")
	fn, object := byte(elf.STT_FUNC), byte(elf.STT_OBJECT)
	want := []cFunction{{strings.Repeat("n", maxText), 0x800, 0x810}, {"open", 0x1000, 0x1020}}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := elf.ELFDATA2LSB
		if order == binary.BigEndian {
			data = elf.ELFDATA2MSB
		}
		h := header64(4, 1)
		h.Ident[elf.EI_DATA] = byte(data)
		content := uint64(64 + 4*64)
		file := encodeIn(order, h,
			[]elf.Section64{
				{},
				{Type: uint32(elf.SHT_STRTAB)},
				{Type: uint32(elf.SHT_STRTAB), Off: content, Size: uint64(len(names))},
				{Type: uint32(elf.SHT_DYNSYM), Off: content + uint64(len(names)), Size: 5 * elf.Sym64Size, Link: 2},
			},
			names,
			[]elf.Sym64{{}, {Name: 1, Info: fn, Value: 0x1000, Size: 0x20}, {Name: 18, Info: object, Value: 0x2000}, {Name: 1, Info: fn}, {Name: 23, Info: fn, Value: 0x800, Size: 0x10}})
		x, err := readExecutable(bytes.NewReader(file))
		require.NoError(t, err)
		assert.Equal(t, want, x.symbols)

		h32 := elf.Header32{
			Ident: h.Ident, Type: h.Type, Machine: uint16(elf.EM_386), Version: h.Version,
			Shoff: 52, Ehsize: 52, Phentsize: 32, Shentsize: 40, Shnum: 4, Shstrndx: 1,
		}
		h32.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32)
		at := uint32(52 + 4*40)
		file = encodeIn(order, h32,
			[]elf.Section32{
				{},
				{Type: uint32(elf.SHT_STRTAB)},
				{Type: uint32(elf.SHT_STRTAB), Off: at, Size: uint32(len(names))},
				{Type: uint32(elf.SHT_SYMTAB), Off: at + uint32(len(names)), Size: 5 * elf.Sym32Size, Link: 2},
			},
			names,
			[]elf.Sym32{{}, {Name: 1, Info: fn, Value: 0x1000, Size: 0x20}, {Name: 18, Info: object, Value: 0x2000}, {Name: 1, Info: fn}, {Name: 23, Info: fn, Value: 0x800, Size: 0x10}})
		x, err = readExecutable(bytes.NewReader(file))
		require.NoError(t, err)
		assert.Equal(t, want, x.symbols)
	}
}

// FuzzExecutable: no file makes the reader of its tables panic, or takes more memory than a few times the file's size.
func FuzzExecutable(f *testing.F) {
	f.Add(encode(header64(0, 0)))
	section, _ := smallTable(binary.LittleEndian)
	names := "\x00.gopclntab\x00.shstrtab\x00"
	f.Add(append(append(encode(header64(3, 2), elf.Section64{},
		elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Addr: 0x1000, Off: 256, Size: uint64(len(section))},
		elf.Section64{Name: 12, Type: uint32(elf.SHT_STRTAB), Off: 256 + uint64(len(section)), Size: uint64(len(names))}),
		section...), names...))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := readExecutable(bytes.NewReader(b))
		if err != nil {
			return
		}
		assert.LessOrEqual(t, x.bytes, 64*len(b)+1<<20)
		x.appendFrames(nil, 0x1014)
	})
}

// smallTable makes the table of a program with two functions: main.outer, in which main.inlined is inlined from offset 16
// to 32, and main.next. It returns the section and the bytes of go:func.*.
func smallTable(order binary.AppendByteOrder) (section, gofunc []byte) {
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
		for _, w := range []uint32{entries[i], name, 0, 0, 0, 1, 4, 3, 0, 9} { // startLine is 9
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
	section = append(order.AppendUint32(nil, magic120), 0, 0, 1, 8)
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

// TestGoTable reads tables of both byte orders.
func TestGoTable(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		section, gofunc := smallTable(order)
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
			section, gofunc := smallTable(binary.LittleEndian)
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
	section, gofunc := smallTable(binary.LittleEndian)
	f.Add(section, gofunc, uint64(0x1014))
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
