package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

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

// content reads a section.
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
