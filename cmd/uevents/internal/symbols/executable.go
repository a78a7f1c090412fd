package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

type executable struct {
	segments []elf.ProgHeader
	golang   *goTable    // nil if there is none
	symbols  []cFunction // from the ELF tables, in order of address
	used     uint64
	bytes    int // approximate memory
}

// readExecutable reads the tables of an ELF file. It fails only if the file is no valid ELF file: one that has no
// symbols gives frames without functions.
func readExecutable(r io.ReaderAt) (x *executable, err error) {
	defer func() { // debug/elf panics at some files
		if p := recover(); p != nil {
			x, err = nil, fmt.Errorf("no valid ELF file: %v", p)
		}
	}()
	f, err := openELF(r)
	if err != nil {
		return nil, err
	}
	x = &executable{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			x.segments = append(x.segments, p.ProgHeader)
		}
	}
	if x.golang = readGoTable(f); x.golang != nil {
		x.bytes = x.golang.bytes
	}
	x.readSymbols(f)
	for _, s := range x.symbols {
		x.bytes += len(s.name) + 48
	}
	return x, nil
}

func readGoTable(f *elfFile) *goTable {
	for _, s := range f.Sections {
		if s.Name != ".gopclntab" && s.Name != ".data.rel.ro.gopclntab" {
			continue
		}
		b, err := f.content(s)
		if err != nil {
			continue
		}
		t, err := newGoTable(b, f.ByteOrder)
		if err != nil {
			continue
		}
		if m, ok := findModule(f, s.Addr); ok {
			t.textAddr = m[moduleText]
			if m[moduleGofunc] != 0 {
				var size int
				t.inlined, size = sectionFrom(f, m[moduleGofunc])
				t.bytes += size
			}
		} else if t.textAddr == 0 {
			if text := f.Section(".text"); text != nil {
				t.textAddr = text.Addr
			}
		}
		return t
	}
	return nil
}

// sectionFrom returns the content of a section from an address on, and the bytes of memory that the section takes.
func sectionFrom(f *elfFile, addr uint64) (part table, size int) {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || addr < s.Addr || addr-s.Addr >= s.Size {
			continue
		}
		if b, err := f.content(s); err == nil {
			return b.from(addr - s.Addr), len(b)
		}
	}
	return nil, 0
}

func (t *goTable) has(addr uint64) bool {
	return addr >= t.textAddr && addr-t.textAddr < t.entry(t.nfunc)
}

// address converts an offset in the file, which a mapping has, to an address of the ELF file.
func (x *executable) address(offset uint64) (uint64, bool) {
	for _, p := range x.segments {
		if offset >= p.Off && offset-p.Off < p.Filesz {
			return offset - p.Off + p.Vaddr, true
		}
	}
	return 0, false
}

// appendFrames appends the functions at an address of the file, innermost first. It reports whether the address belongs
// to a known function.
func (x *executable) appendFrames(frames []Frame, addr uint64) ([]Frame, bool) {
	if x.golang != nil {
		if frames, ok := x.golang.appendFrames(frames, addr); ok {
			return frames, true
		}
	}
	i := sort.Search(len(x.symbols), func(i int) bool { return x.symbols[i].addr > addr }) - 1
	if i < 0 {
		return frames, false
	}
	// Functions in assembly may have no size: they extend to the next one.
	if s := x.symbols[i]; addr < s.end || s.end == s.addr {
		return append(frames, Frame{Func: s.name}), true
	}
	return frames, false
}

// Limits of what is read of a file. Programs are not trusted: a small or sparse file can claim sections of any size.
const (
	maxSection     = 128 << 20
	maxRead        = 512 << 20 // of a file in all; sections may overlap
	maxSectionName = 64
)

var errTooLarge = errors.New("the ELF file has more to read than an executable has")

// elfFile is an ELF file of which a limited number of bytes is read.
type elfFile struct {
	*elf.File
	r *boundedReader
}

// boundedReader reads a file up to a number of bytes.
type boundedReader struct {
	file   io.ReaderAt
	header []byte // in place of the file's
	left   int64
}

// ReadAt implements [io.ReaderAt]. It counts the requested bytes, also those beyond the end of the file.
func (r *boundedReader) ReadAt(b []byte, offset int64) (int, error) {
	if int64(len(b)) > r.left {
		return 0, errTooLarge
	}
	r.left -= int64(len(b))
	n, err := r.file.ReadAt(b, offset)
	if offset < int64(len(r.header)) {
		copy(b[:n], r.header[offset:])
	}
	return n, err
}

// openELF reads the headers of an ELF file. debug/elf takes memory for each section and for the name of each, as the file
// claims them: it reads at most 1<<16 headers of their right size and no names, which are read here.
func openELF(file io.ReaderAt) (*elfFile, error) {
	r := &boundedReader{file: file, header: make([]byte, 64), left: maxRead}
	if _, err := file.ReadAt(r.header, 0); err != nil {
		return nil, fmt.Errorf("reading the ELF header: %w", err)
	}
	// Offsets of e_shoff and e_phentsize. After the latter are e_phnum, e_shentsize, e_shnum and e_shstrndx.
	word, shoff, sizes, programSize, sectionSize := 8, 40, 54, uint16(56), uint16(64)
	if elf.Class(r.header[elf.EI_CLASS]) == elf.ELFCLASS32 {
		word, shoff, sizes, programSize, sectionSize = 4, 32, 42, 32, 40
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(r.header[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	half := func(i int) uint16 { return order.Uint16(r.header[sizes+2*i:]) }
	programs, sections, names := half(1), half(3), half(4)
	at := readWord(r.header[shoff:], order, word)
	if programs > 0 && half(0) != programSize || sections > 0 && half(2) != sectionSize || sections == 0 && at != 0 {
		return nil, errors.New("the ELF file has headers that no executable has")
	}
	order.PutUint16(r.header[sizes+8:], uint16(elf.SHN_UNDEF))
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	opened := &elfFile{f, r}
	if names == 0 || int(names) >= len(f.Sections) {
		return opened, nil
	}
	texts, err := opened.content(f.Sections[names])
	if err != nil {
		return nil, fmt.Errorf("reading the names of sections: %w", err)
	}
	headers := make(table, int(sections)*int(sectionSize))
	if _, err := r.ReadAt(headers, int64(at)); err != nil {
		return nil, fmt.Errorf("reading the headers of sections: %w", err)
	}
	for i, s := range f.Sections {
		s.Name = string(texts.until0(uint64(headers.u32(order, uint64(i)*uint64(sectionSize))), maxSectionName))
	}
	return opened, nil
}

func (f *elfFile) content(s *elf.Section) (table, error) {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, fmt.Errorf("section %q has no content that is loaded", s.Name)
	}
	if s.Size > maxSection || int64(s.Size) > f.r.left {
		return nil, errTooLarge
	}
	b := make(table, s.Size)
	if n, err := s.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("reading section %q: %w", s.Name, err)
	}
	return b, nil
}

// Limits of what is kept of the symbol tables of a file.
const (
	maxSymbols = 1 << 20
	maxNames   = 64 << 20 // bytes of names in all: any number of symbols can have the same long one
)

type cFunction struct {
	name      string
	addr, end uint64
}

// readSymbols reads the functions of the ELF tables, which C programs have. Those of Go are in the other table,
// with lines.
func (x *executable) readSymbols(f *elfFile) {
	names := maxNames
	// It is stripped, or dynamic symbols are all there is.
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		symbols, texts, err := f.symbolTable(kind)
		if err != nil {
			continue
		}
		size, valueAt, infoAt, word := elf.Sym64Size, 8, 4, 8
		if f.Class == elf.ELFCLASS32 {
			size, valueAt, infoAt, word = elf.Sym32Size, 4, 12, 4
		}
		for ; len(symbols) >= size && len(x.symbols) < maxSymbols && names > 0; symbols = symbols[size:] {
			addr := readWord(symbols[valueAt:], f.ByteOrder, word)
			if elf.ST_TYPE(symbols[infoAt]) != elf.STT_FUNC || addr == 0 || x.golang != nil && x.golang.has(addr) {
				continue
			}
			name := texts.until0(uint64(symbols.u32(f.ByteOrder, 0)), min(maxText, names))
			names -= len(name)
			if name, _, _ = bytes.Cut(name, []byte{'@'}); len(name) > 0 { // the version of a dynamic symbol
				x.symbols = append(x.symbols, cFunction{string(name), addr, addr + readWord(symbols[valueAt+word:], f.ByteOrder, word)})
			}
		}
	}
	sort.SliceStable(x.symbols, func(i, j int) bool { return x.symbols[i].addr < x.symbols[j].addr })
}

func (f *elfFile) symbolTable(kind elf.SectionType) (symbols, names table, err error) {
	s := f.SectionByType(kind)
	if s == nil || s.Link == 0 || s.Link >= uint32(len(f.Sections)) {
		return nil, nil, errors.New("no symbol table")
	}
	if symbols, err = f.content(s); err == nil {
		names, err = f.content(f.Sections[s.Link])
	}
	return symbols, names, err
}
