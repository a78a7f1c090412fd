package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"sort"
)

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

// symbolTable reads the symbol table of a type, and the names in it.
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
