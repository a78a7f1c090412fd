package symbols

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
)

// Words of runtime.moduledata since Go 1.20. Its first word is the address of the table of functions.
const (
	moduleText   = 22
	moduleGofunc = 40
	moduleWords  = 41
)

// maxCandidates limits how many places are looked at that have the address of the table of functions.
const maxCandidates = 16

// module is what runtime.moduledata says of a program. The linker leaves it in the file, but in a program that is
// position independent its words are in the relocations.
type module [moduleWords]uint64

// findModule finds the runtime.moduledata that points to the table of functions at an address.
func findModule(f *elfFile, pclntab uint64) (m module, ok bool) {
	if f.Class != elf.ELFCLASS64 {
		return m, false
	}
	if m, ok = moduleOfRelocations(f, pclntab); ok {
		return m, true
	}
	candidates := 0
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_WRITE == 0 {
			continue
		}
		b, err := f.content(s)
		if err != nil {
			continue
		}
		for ; len(b) >= 8*moduleWords && candidates < maxCandidates; b = b[8:] {
			if f.ByteOrder.Uint64(b) != pclntab {
				continue
			}
			candidates++
			for i := range m {
				m[i] = f.ByteOrder.Uint64(b[8*i:])
			}
			if m.plausible(f) {
				return m, true
			}
		}
	}
	return module{}, false
}

func moduleOfRelocations(f *elfFile, pclntab uint64) (m module, ok bool) {
	var relative uint32
	switch f.Machine {
	case elf.EM_X86_64:
		relative = uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		relative = uint32(elf.R_AARCH64_RELATIVE)
	default:
		return m, false
	}
	var sections []table
	for _, s := range f.Sections {
		if s.Type == elf.SHT_RELA && s.Flags&elf.SHF_ALLOC != 0 { //nolint:misspell // ELF's word
			if b, err := f.content(s); err == nil {
				sections = append(sections, b)
			}
		}
	}
	var at []uint64 // places with the address of the table
	each := func(do func(offset, addend uint64)) {
		for _, b := range sections {
			eachRelative(b, f.ByteOrder, relative, do)
		}
	}
	each(func(offset, addend uint64) {
		if addend == pclntab && len(at) < maxCandidates {
			at = append(at, offset)
		}
	})
	for _, start := range at {
		m = module{}
		each(func(offset, addend uint64) {
			if i := (offset - start) / 8; offset >= start && i < moduleWords {
				m[i] = addend
			}
		})
		if m.plausible(f) {
			return m, true
		}
	}
	return module{}, false
}

// eachRelative calls do for each relocation of a type: three words with offset, type, addend.
func eachRelative(b []byte, order binary.ByteOrder, kind uint32, do func(offset, addend uint64)) {
	for ; len(b) >= 24; b = b[24:] {
		if uint32(order.Uint64(b[8:])) == kind {
			do(order.Uint64(b), order.Uint64(b[16:]))
		}
	}
}

// plausible reports whether the module's functions are code of the file: its words minpc and text.
func (m *module) plausible(f *elfFile) bool {
	minpc, text := m[20], m[moduleText]
	if minpc < text {
		return false
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && text >= p.Vaddr && text-p.Vaddr < p.Memsz {
			return true
		}
	}
	return false
}

// Mapping is an executable mapping of a file in a process.
type Mapping struct {
	Start, End uint64 // addresses in the process
	Offset     uint64 // of Start in the file
	Path       string // as the process sees it; names such as [vdso] are not files
	Deleted    bool   // the file has no path any more
	Device     string // "MAJOR:MINOR", in hexadecimal
	Inode      uint64
}

// size returns how many bytes of memory the mapping takes, about.
func (m *Mapping) size() int { return 96 + len(m.Path) + len(m.Device) }

// Limits of a process.
const (
	maxMappings = 1 << 14  // some programs load code continuously
	maxMaps     = 16 << 20 // bytes read of /proc/PID/maps
)

// parseMaps parses the executable mappings in /proc/PID/maps, which are in order of address. It ends where it cannot read
// on: what it returns is right, as far as it goes.
func parseMaps(r io.Reader) (mappings []Mapping) {
	lines := bufio.NewReaderSize(io.LimitReader(r, maxMaps), 64<<10)
	for {
		b, err := lines.ReadSlice('\n')
		if err != nil {
			return mappings
		}
		line := string(b)
		// 7f1c-7f2d r-xp 00001000 fe:01 1234    /path with spaces (deleted)
		var fields [5]string
		rest := strings.TrimSuffix(line, "\n")
		for i := range fields {
			fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		if len(fields[1]) < 3 || fields[1][2] != 'x' || len(mappings) == maxMappings {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(fields[2], 16, 64)
		inode, err4 := strconv.ParseUint(fields[4], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || end <= start {
			continue
		}
		// The line would stay in memory as long as a part of it.
		m := Mapping{Start: start, End: end, Offset: offset, Device: strings.Clone(fields[3]), Inode: inode}
		path, deleted := strings.CutSuffix(strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n"), " (deleted)")
		m.Path, m.Deleted = strings.Clone(path), deleted
		mappings = append(mappings, m)
	}
}

// isFile reports whether the mapping is a file. perf's name for anonymous memory is //anon.
func (m *Mapping) isFile() bool { return strings.HasPrefix(m.Path, "/") && m.Path != "//anon" }
