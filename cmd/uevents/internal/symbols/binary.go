package symbols

import (
	"debug/elf"
	"fmt"
	"io"
	"sort"
)

// executable is a mapped program or library.
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
			if t.startLine && m[moduleGofunc] != 0 {
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
